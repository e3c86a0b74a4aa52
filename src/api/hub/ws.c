/* WebSocket frames. */
#include "api/hub/ws.h"

#include <openssl/evp.h>

enum { FIRST_BYTES = 2, OP_CONTINUATION = 0, LENGTH_16 = 126, LENGTH_64 = 127, MASK_BYTES = 4 };

void sf_ws_reader_init(sf_ws_reader *reader, size_t message_max)
{
    *reader = (sf_ws_reader){.message_max = message_max, .header_need = FIRST_BYTES};
}

void sf_ws_reader_deinit(sf_ws_reader *reader)
{
    sf_buf_deinit(&reader->message);
}

static sf_ws_event bad(sf_ws_reader *reader, uint16_t code, const char *reason)
{
    reader->bad_code = code;
    reader->bad_reason = reason;
    return SF_WS_BAD;
}

static bool is_control(const sf_ws_reader *reader)
{
    return reader->opcode >= SF_WS_OP_CLOSE;
}

/* The first two bytes are here: how long is the header, and may this frame stand here? */
static sf_ws_event judge_first(sf_ws_reader *reader)
{
    uint8_t first = reader->header[0], second = reader->header[1];
    reader->final = first & 0x80;
    reader->opcode = first & 0x0f;
    if (first & 0x70)
        return bad(reader, SF_WS_CLOSE_PROTOCOL, "a frame uses an extension nobody agreed on");
    if (!(second & 0x80))
        return bad(reader, SF_WS_CLOSE_PROTOCOL, "a frame from a client must be masked");
    if (is_control(reader)) {
        if (reader->opcode > SF_WS_OP_PONG)
            return bad(reader, SF_WS_CLOSE_PROTOCOL, "a frame has an unknown opcode");
        if (!reader->final || (second & 0x7f) >= LENGTH_16)
            return bad(reader, SF_WS_CLOSE_PROTOCOL, "a control frame is split or too long");
    } else if (reader->opcode > SF_WS_BINARY) {
        return bad(reader, SF_WS_CLOSE_PROTOCOL, "a frame has an unknown opcode");
    } else if ((reader->opcode == OP_CONTINUATION) != (reader->message_opcode != 0)) {
        return bad(reader, SF_WS_CLOSE_PROTOCOL,
                   "a message is continued that did not begin, or "
                   "begins inside another");
    }
    unsigned length = second & 0x7f;
    reader->header_need = FIRST_BYTES + MASK_BYTES;
    if (length == LENGTH_16)
        reader->header_need += 2;
    else if (length == LENGTH_64)
        reader->header_need += 8;
    return SF_WS_MORE;
}

static sf_ws_event begin_payload(sf_ws_reader *reader)
{
    unsigned extra = reader->header_need - FIRST_BYTES - MASK_BYTES;
    uint64_t length = reader->header[1] & 0x7f;
    if (extra) {
        length = 0;
        for (unsigned i = 0; i < extra; i++)
            length = length << 8 | reader->header[FIRST_BYTES + i];
        if (length < LENGTH_16 || (extra == 8 && length <= UINT16_MAX) || length >> 63)
            return bad(reader, SF_WS_CLOSE_PROTOCOL, "a frame's length is not in its short form");
    }
    memmove(reader->header, reader->header + reader->header_need - MASK_BYTES, MASK_BYTES);
    reader->left = length;
    reader->mask_at = 0;
    if (is_control(reader)) {
        reader->control_len = 0;
        return SF_WS_MORE;
    }
    if (length > reader->message_max - reader->message.len)
        return bad(reader, SF_WS_CLOSE_TOO_BIG, "a message is larger than this server accepts");
    if (reader->opcode != OP_CONTINUATION)
        reader->message_opcode = reader->opcode;
    return SF_WS_MORE;
}

static size_t take_payload(sf_ws_reader *reader, const char *bytes, size_t len)
{
    size_t take = len < reader->left ? len : (size_t)reader->left;
    char *into;
    if (is_control(reader)) {
        into = (char *)reader->control + reader->control_len;
        reader->control_len += (unsigned)take;
    } else {
        if (!sf_buf_reserve(&reader->message, take))
            return take;
        into = reader->message.data + reader->message.len;
        reader->message.len += take;
        into[take] = '\0';
    }
    for (size_t i = 0; i < take; i++)
        into[i] = (char)(bytes[i] ^ reader->header[reader->mask_at++ & 3]);
    reader->left -= take;
    return take;
}

static sf_ws_event end_frame(sf_ws_reader *reader, sf_str *payload)
{
    reader->header_len = 0;
    reader->header_need = FIRST_BYTES;
    if (is_control(reader)) {
        *payload = (sf_str){(const char *)reader->control, reader->control_len};
        if (reader->opcode == SF_WS_OP_CLOSE)
            return SF_WS_CLOSE;
        return reader->opcode == SF_WS_OP_PING ? SF_WS_PING : SF_WS_PONG;
    }
    if (!reader->final)
        return SF_WS_MORE;
    *payload = sf_buf_str(&reader->message);
    reader->message_opcode = 0;
    reader->done = true;
    return SF_WS_MESSAGE;
}

sf_ws_event sf_ws_read(sf_ws_reader *reader, const char *bytes, size_t len, size_t *used,
                       sf_str *payload)
{
    *used = 0;
    *payload = (sf_str){"", 0};
    if (reader->done) {
        sf_buf_clear(&reader->message);
        reader->done = false;
    }
    while (*used < len) {
        if (reader->header_len < reader->header_need) {
            reader->header[reader->header_len++] = (uint8_t)bytes[(*used)++];
            if (reader->header_len < reader->header_need)
                continue;
            sf_ws_event event =
                reader->header_len == FIRST_BYTES ? judge_first(reader) : begin_payload(reader);
            if (event == SF_WS_BAD)
                return event;
            if (reader->header_len < reader->header_need)
                continue;
        } else {
            *used += take_payload(reader, bytes + *used, len - *used);
            if (reader->message.failed)
                return bad(reader, SF_WS_CLOSE_INTERNAL, "out of memory for a message");
        }
        if (reader->left == 0) {
            sf_ws_event event = end_frame(reader, payload);
            if (event != SF_WS_MORE)
                return event;
        }
    }
    return SF_WS_MORE;
}

/* ---- writing ---- */

enum { HEADER_ROOM = 10 };

size_t sf_ws_begin_frame(sf_buf *out)
{
    size_t begin = out->len;
    sf_buf_put(out, "\0\0\0\0\0\0\0\0\0", HEADER_ROOM);
    return begin;
}

static unsigned frame_header(uint8_t header[HEADER_ROOM], int opcode, size_t len)
{
    header[0] = (uint8_t)(0x80 | opcode);
    unsigned extra = len < LENGTH_16 ? 0 : len <= UINT16_MAX ? 2 : 8;
    header[1] = (uint8_t)(extra == 0 ? len : extra == 2 ? LENGTH_16 : LENGTH_64);
    for (unsigned i = 0; i < extra; i++)
        header[2 + i] = (uint8_t)((uint64_t)len >> (8 * (extra - 1 - i)));
    return 2 + extra;
}

/* The payload moves up to the header that turned out to be needed; only 6 or 8 bytes are closed. */
void sf_ws_end_frame(sf_buf *out, size_t begin, int opcode)
{
    if (out->failed)
        return;
    size_t len = out->len - begin - HEADER_ROOM;
    uint8_t header[HEADER_ROOM];
    unsigned header_len = frame_header(header, opcode, len);
    memcpy(out->data + begin, header, header_len);
    if (header_len < HEADER_ROOM) {
        memmove(out->data + begin + header_len, out->data + begin + HEADER_ROOM, len);
        out->len = begin + header_len + len;
        out->data[out->len] = '\0';
    }
}

void sf_ws_put_frame(sf_buf *out, int opcode, sf_str payload)
{
    uint8_t header[HEADER_ROOM];
    unsigned header_len = frame_header(header, opcode, payload.len);
    sf_buf_put(out, header, header_len);
    sf_buf_put(out, payload.data, payload.len);
}

void sf_ws_put_close(sf_buf *out, uint16_t code, const char *reason)
{
    char payload[125];
    size_t len = strlen(reason);
    if (len > sizeof payload - 2)
        len = sizeof payload - 2;
    payload[0] = (char)(code >> 8);
    payload[1] = (char)code;
    memcpy(payload + 2, reason, len);
    sf_ws_put_frame(out, SF_WS_OP_CLOSE, (sf_str){payload, len + 2});
}

bool sf_ws_accept(sf_str key, char out[SF_WS_ACCEPT_BYTES])
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    enum { KEY_BYTES = 24, DIGEST_BYTES = 20 };
    unsigned char raw[KEY_BYTES], digest[EVP_MAX_MD_SIZE];
    char text[KEY_BYTES + sizeof magic - 1];
    if (key.len != KEY_BYTES || key.data[KEY_BYTES - 2] != '=' || key.data[KEY_BYTES - 1] != '=' ||
        EVP_DecodeBlock(raw, (const unsigned char *)key.data, KEY_BYTES) < 0)
        return false;
    memcpy(text, key.data, KEY_BYTES);
    memcpy(text + KEY_BYTES, magic, sizeof magic - 1);
    if (!EVP_Digest(text, sizeof text, digest, NULL, EVP_sha1(), NULL))
        return false;
    EVP_EncodeBlock((unsigned char *)out, digest, DIGEST_BYTES);
    return true;
}
