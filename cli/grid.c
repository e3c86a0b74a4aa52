/* Aligned columns. */
#include "cli/grid.h"

#include <errno.h>

enum {
    HELD_ROWS = 1000,
    BUFFER_BYTES = 64 << 10,
};

sf_status sf_cli_put(sf_buf *buf, sf_error *err)
{
    if (buf->failed)
        return sf_fail_memory(err);
    size_t length = buf->len;
    if (length && fwrite(buf->data, 1, length, stdout) != length)
        return sf_fail(err, SF_IO, "standard output cannot be written: %s", strerror(errno));
    sf_buf_clear(buf);
    return SF_OK;
}

sf_status sf_cli_grid_init(sf_cli_grid *grid, size_t column_count, sf_error *err)
{
    *grid = (sf_cli_grid){.column_count = column_count};
    grid->widths = sf_calloc(column_count + 1, sizeof *grid->widths);
    grid->right = sf_calloc(column_count + 1, sizeof *grid->right);
    return grid->widths && grid->right ? SF_OK : sf_fail_memory(err);
}

void sf_cli_grid_deinit(sf_cli_grid *grid)
{
    for (size_t i = 0; i < grid->held.len; i++)
        sf_free(grid->held.data[i]);
    SF_VEC_DEINIT(&grid->held);
    sf_free(grid->widths);
    sf_free(grid->right);
    sf_buf_deinit(&grid->buf);
}

static size_t shown_width(sf_str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return width;
}

static void put_cell(sf_cli_grid *grid, size_t column, sf_str text)
{
    size_t width = shown_width(text), wanted = grid->widths[column];
    size_t pad = wanted > width ? wanted - width : 0;
    bool last = column + 1 == grid->column_count;
    if (column)
        sf_buf_puts(&grid->buf, " | ");
    for (size_t i = 0; grid->right[column] && i < pad; i++)
        sf_buf_putc(&grid->buf, ' ');
    sf_buf_put(&grid->buf, text.data, text.len);
    for (size_t i = 0; !grid->right[column] && !last && i < pad; i++)
        sf_buf_putc(&grid->buf, ' ');
    if (last)
        sf_buf_putc(&grid->buf, '\n');
}

static void put_rule(sf_cli_grid *grid)
{
    for (size_t column = 0; column < grid->column_count; column++) {
        if (column)
            sf_buf_puts(&grid->buf, "-+-");
        for (uint32_t i = 0; i < grid->widths[column]; i++)
            sf_buf_putc(&grid->buf, '-');
    }
    sf_buf_putc(&grid->buf, '\n');
}

static sf_status release_held(sf_cli_grid *grid, sf_error *err)
{
    grid->sized = true;
    for (size_t i = 0; i < grid->held.len; i++) {
        size_t column = i % grid->column_count;
        put_cell(grid, column, sf_str_of(grid->held.data[i]));
        if (i + 1 == grid->column_count)
            put_rule(grid);
        sf_free(grid->held.data[i]);
        grid->held.data[i] = NULL;
        if (column == 0 && grid->buf.len > BUFFER_BYTES)
            SF_TRY(sf_cli_put(&grid->buf, err));
    }
    grid->held.len = 0;
    return SF_OK;
}

static bool put_printable(sf_buf *buf, sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n')
            sf_buf_puts(buf, "\\n");
        else if (c < ' ' || c == 0x7F)
            sf_buf_printf(buf, "\\x%02x", c);
        else
            sf_buf_putc(buf, (char)c);
    }
    return !buf->failed;
}

static sf_status hold(sf_cli_grid *grid, size_t column, sf_str text, sf_error *err)
{
    size_t width = shown_width(text);
    if (width > grid->widths[column])
        grid->widths[column] = (uint32_t)width;
    char *kept = sf_strndup(text.len ? text.data : "", text.len);
    if (!kept || !SF_VEC_PUSH(&grid->held, kept)) {
        sf_free(kept);
        return sf_fail_memory(err);
    }
    return grid->held.len < (HELD_ROWS + 1) * grid->column_count ? SF_OK : release_held(grid, err);
}

sf_status sf_cli_grid_cell(sf_cli_grid *grid, sf_str text, sf_error *err)
{
    sf_buf shown = {0};
    size_t column = grid->column++ % grid->column_count;
    sf_status status = put_printable(&shown, text) ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK && grid->sized)
        put_cell(grid, column, sf_buf_str(&shown));
    else if (status == SF_OK)
        status = hold(grid, column, sf_buf_str(&shown), err);
    sf_buf_deinit(&shown);
    return status == SF_OK && grid->buf.len > BUFFER_BYTES ? sf_cli_put(&grid->buf, err) : status;
}

sf_status sf_cli_grid_show(sf_cli_grid *grid, bool held, sf_error *err)
{
    if (held && !grid->sized)
        SF_TRY(release_held(grid, err));
    return sf_cli_put(&grid->buf, err);
}
