/* Checkpoints of groups, in a store that can be told to fail. */
#include "tests.h"

enum { STORE_ITEMS_MAX = 64 };

typedef struct {
    char key[64];
    bool is_page;
    uint32_t page_no;
    char *bytes;
    size_t len;
} item;

typedef struct {
    item items[STORE_ITEMS_MAX];
    size_t count;
    int pages_put;  /* since it was last set to 0 */
    int fail_after; /* calls that still succeed; -1: all do */
} store;

static sf_status use(store *at, sf_error *err)
{
    if (at->fail_after == 0)
        return sf_fail(err, SF_IO, "the disk is gone");
    at->fail_after -= at->fail_after > 0;
    return SF_OK;
}

static item *find(store *at, const char *key, bool is_page, uint32_t page_no)
{
    for (size_t i = 0; i < at->count; i++)
        if (strcmp(at->items[i].key, key) == 0 && at->items[i].is_page == is_page &&
            at->items[i].page_no == page_no)
            return &at->items[i];
    return NULL;
}

static void put(store *at, const char *key, bool is_page, uint32_t page_no, const void *bytes,
                size_t len)
{
    item *old = find(at, key, is_page, page_no);
    if (!bytes) { /* the page is gone */
        if (old) {
            free(old->bytes);
            *old = at->items[--at->count];
        }
        return;
    }
    if (!old) {
        SF_ASSERT(at->count < STORE_ITEMS_MAX);
        old = &at->items[at->count++];
        *old = (item){.is_page = is_page, .page_no = page_no};
        snprintf(old->key, sizeof old->key, "%s", key);
    }
    free(old->bytes);
    old->bytes = malloc(len + 1);
    SF_ASSERT(old->bytes);
    memcpy(old->bytes, bytes, len);
    old->len = len;
}

static sf_status put_blob(void *self, const char *key, const void *bytes, size_t len, sf_error *err)
{
    SF_TRY(use(self, err));
    put(self, key, false, 0, bytes, len);
    return SF_OK;
}

static sf_status put_page(void *self, const char *key, uint32_t page_no, const void *bytes,
                          sf_error *err)
{
    SF_TRY(use(self, err));
    ((store *)self)->pages_put++;
    put(self, key, true, page_no, bytes, SF_PAGE_BYTES);
    return SF_OK;
}

static sf_status drop_pages(void *self, const char *key, sf_error *err)
{
    store *at = self;
    SF_TRY(use(at, err));
    for (size_t i = at->count; i-- > 0;)
        if (at->items[i].is_page && strcmp(at->items[i].key, key) == 0)
            put(at, key, true, at->items[i].page_no, NULL, 0);
    return SF_OK;
}

static sf_status get_blob(void *self, const char *key, sf_buf *out, sf_error *err)
{
    SF_TRY(use(self, err));
    const item *found = find(self, key, false, 0);
    if (!found)
        return sf_fail(err, SF_NOT_FOUND, "there is no \"%s\"", key);
    sf_buf_put(out, found->bytes, found->len);
    return SF_OK;
}

static sf_status each_page(void *self, const char *key,
                           sf_status (*visit)(void *arg, uint32_t page_no, const void *bytes,
                                              sf_error *err),
                           void *arg, sf_error *err)
{
    const store *at = self;
    SF_TRY(use(self, err));
    for (size_t i = 0; i < at->count; i++)
        if (at->items[i].is_page && strcmp(at->items[i].key, key) == 0)
            SF_TRY(visit(arg, at->items[i].page_no, at->items[i].bytes, err));
    return SF_OK;
}

static void clear_store(store *at)
{
    for (size_t i = 0; i < at->count; i++)
        free(at->items[i].bytes);
    *at = (store){.fail_after = -1};
}

/* A checkpoint of the bench, told done when it is in the store. */
static sf_status save(bench *b, store *to, bool whole, sf_error *err)
{
    sf_image *image = NULL;
    sf_image_sink sink = {
        .put_blob = put_blob, .put_page = put_page, .drop_pages = drop_pages, .self = to};
    SF_TRY(sf_image_take(b->group, &image, err));
    sf_status status = sf_image_write(image, whole, &sink, err);
    if (status == SF_OK)
        sf_image_done(b->group, image);
    sf_image_free(image);
    return status;
}

static sf_status load(bench *b, store *from, bool *restored, sf_error *err)
{
    sf_image_source source = {.get_blob = get_blob, .each_page = each_page, .self = from};
    return sf_group_load(b->group, &source, restored, err);
}

static const char sums[] = "SELECT k, SUM(v) AS s FROM s GROUP BY k";
static const char big[] = "SELECT k FROM t WHERE s >= 15";
static const row four[] = {{1, 10, 1}, {2, 20, 2}, {1, 5, 3}, {3, 1, 4}};

static void open_pair(bench *b, test_log *log)
{
    bench_open(b, log);
    CHECK_INT(bench_add(b, "t", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    CHECK_INT(bench_add(b, "u", SF_PLAN_TABLE, big, 0, NULL), SF_OK);
}

/* What was read before the checkpoint is not read again, what came after it is. */
void images_come_back(void)
{
    bench before, after;
    store disk = {.fail_after = -1};
    char text[TEXT_BYTES];
    sf_error err = {0};
    bool restored[BENCH_MEMBERS_MAX] = {false};
    open_pair(&before, NULL);
    bench_push(&before, four, 3);
    CHECK_INT(bench_run(&before), 1);
    CHECK_INT(save(&before, &disk, true, &err), SF_OK);
    bench_push(&before, four + 3, 1);
    CHECK_INT(bench_run(&before), 1); /* lost in the crash */
    before.log->first = 3;

    open_pair(&after, before.log);
    CHECK_INT(load(&after, &disk, restored, &err), SF_OK);
    CHECK(restored[bench_id(&after, "t")] && restored[bench_id(&after, "u")]);
    CHECK_INT(sf_group_epoch(after.group), 1);
    CHECK_INT(sf_group_position(after.group, bench_id(&after, "t"), 0), 3);
    CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20");
    CHECK_STR(bench_answer(&after, "u", text), " 1 2");
    CHECK_INT(bench_run(&after), 1);
    CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&after, "u", text), " 1 2");
    bench_close(&after);

    store nothing = {.fail_after = -1};
    open_pair(&after, before.log);
    CHECK_INT(load(&after, &nothing, NULL, &err), SF_OK);
    CHECK_INT(sf_group_epoch(after.group), 0);
    bench_close(&after);
    bench_close(&before);
    clear_store(&disk);
}

/* Only pages that changed are written again, unless the last image did not become durable. */
void images_hold_what_changed(void)
{
    bench b, after;
    store disk = {.fail_after = -1}, whole = {.fail_after = -1};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_image *image = NULL;
    open_pair(&b, NULL);
    bench_push(&b, four, 3);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(save(&b, &disk, false, &err), SF_OK);
    CHECK(disk.pages_put > 0);
    disk.pages_put = 0;
    CHECK_INT(save(&b, &disk, false, &err), SF_OK);
    CHECK_INT(disk.pages_put, 0);
    CHECK_INT(save(&b, &whole, true, &err), SF_OK);
    CHECK(whole.pages_put > 0);

    bench_push(&b, four + 3, 1); /* changes t, but not u */
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(sf_image_take(b.group, &image, &err), SF_OK); /* never written */
    CHECK_INT((long long)sf_image_position(image, "s"), 4);
    CHECK(sf_image_position(image, "other") == UINT64_MAX);
    sf_image_free(image);
    sf_image_free(NULL);
    CHECK_INT(save(&b, &disk, false, &err), SF_OK);
    CHECK(disk.pages_put > 0 && disk.pages_put < whole.pages_put);

    open_pair(&after, b.log);
    CHECK_INT(load(&after, &disk, NULL, &err), SF_OK);
    CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20 3:1");
    CHECK_INT(bench_run(&after), 0);
    bench_close(&after);
    bench_close(&b);
    clear_store(&disk);
    clear_store(&whole);
}

/* Another query of the same name begins anew, and with it what reads it. */
void images_are_of_a_query(void)
{
    bench before, after;
    store disk = {.fail_after = -1};
    char text[TEXT_BYTES];
    sf_error err = {0};
    bool restored[BENCH_MEMBERS_MAX] = {false};
    open_pair(&before, NULL);
    CHECK_INT(bench_add(&before, "own", SF_PLAN_TABLE, "SELECT v FROM s", 0, NULL), SF_OK);
    bench_push(&before, four, 4);
    CHECK_INT(bench_run(&before), 1);
    CHECK_INT(save(&before, &disk, true, &err), SF_OK);

    bench_open(&after, before.log);
    CHECK_INT(
        bench_add(&after, "t", SF_PLAN_TABLE, "SELECT k, MAX(v) AS s FROM s GROUP BY k", 0, NULL),
        SF_OK);
    CHECK_INT(bench_add(&after, "u", SF_PLAN_TABLE, big, 0, NULL), SF_OK);
    CHECK_INT(bench_add(&after, "own", SF_PLAN_TABLE, "SELECT v FROM s", 0, NULL), SF_OK);
    CHECK_INT(load(&after, &disk, restored, &err), SF_OK);
    CHECK(!restored[bench_id(&after, "t")] && !restored[bench_id(&after, "u")]);
    CHECK(restored[bench_id(&after, "own")]);
    CHECK_INT(sf_group_position(after.group, bench_id(&after, "t"), 0), 0);
    CHECK_INT(bench_run(&after), 1);
    CHECK_STR(bench_answer(&after, "t", text), " 1:10 2:20 3:1");
    CHECK_STR(bench_answer(&after, "u", text), " 2");
    CHECK_STR(bench_answer(&after, "own", text), " 1 10 20 5");
    bench_close(&after);
    bench_close(&before);
    clear_store(&disk);
}

/* What a store holds of a member replaces what another holds. */
static void copy_member(store *to, store *from, const char *name)
{
    char blob[64], pages[64];
    snprintf(blob, sizeof blob, "member:%s", name);
    snprintf(pages, sizeof pages, "%s/", name);
    for (size_t i = to->count; i-- > 0;) {
        const item *old = &to->items[i];
        if (old->is_page && strncmp(old->key, pages, strlen(pages)) == 0)
            put(to, old->key, true, old->page_no, NULL, 0);
    }
    for (size_t i = 0; i < from->count; i++) {
        const item *one = &from->items[i];
        if (strcmp(one->key, blob) == 0 ||
            (one->is_page && strncmp(one->key, pages, strlen(pages)) == 0))
            put(to, one->key, one->is_page, one->page_no, one->bytes, one->len);
    }
}

/* A member is taken up only when the tables it reads stand at the very epoch it has seen. */
void images_stand_on_their_inputs(void)
{
    for (int older = 0; older < 2; older++) {
        bench b, after;
        store first = {.fail_after = -1}, second = {.fail_after = -1};
        char text[TEXT_BYTES];
        sf_error err = {0};
        bool restored[BENCH_MEMBERS_MAX] = {false};
        open_pair(&b, NULL);
        bench_push(&b, four, 2);
        CHECK_INT(bench_run(&b), 1);
        CHECK_INT(save(&b, &first, true, &err), SF_OK);
        bench_push(&b, four + 2, 2);
        CHECK_INT(bench_run(&b), 1);
        CHECK_INT(save(&b, &second, true, &err), SF_OK);
        copy_member(&second, &first, older ? "u" : "t");

        open_pair(&after, b.log);
        CHECK_INT(load(&after, &second, restored, &err), SF_OK);
        CHECK(restored[bench_id(&after, "t")]);
        CHECK(!restored[bench_id(&after, "u")]);
        CHECK_INT(bench_run(&after), 1);
        CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20 3:1");
        CHECK_STR(bench_answer(&after, "u", text), " 1 2");
        bench_close(&after);
        bench_close(&b);
        clear_store(&first);
        clear_store(&second);
    }
}

/* Loaded from one place, written to another: there it is whole, whatever stood there before. */
void images_move(void)
{
    bench b, after;
    store home = {.fail_after = -1}, away = {.fail_after = -1};
    char text[TEXT_BYTES];
    sf_error err = {0};
    row many[8];
    for (int i = 0; i < 8; i++)
        many[i] = (row){100 + i, 1, 1};
    bench_open(&b, NULL); /* another life of the same names */
    CHECK_INT(bench_add(&b, "t", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    bench_push(&b, many, 8);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(save(&b, &away, true, &err), SF_OK);
    bench_close(&b);

    open_pair(&b, NULL);
    bench_push(&b, four, 3);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(save(&b, &home, true, &err), SF_OK);
    open_pair(&after, b.log);
    CHECK_INT(load(&after, &home, NULL, &err), SF_OK);
    sf_group_rewrite(after.group, bench_id(&after, "t"));
    sf_group_rewrite(after.group, bench_id(&after, "u"));
    bench_push(&b, four + 3, 1);
    CHECK_INT(bench_run(&after), 1);
    CHECK_INT(save(&after, &away, false, &err), SF_OK);
    bench_close(&after);

    open_pair(&after, b.log);
    CHECK_INT(load(&after, &away, NULL, &err), SF_OK);
    CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&after, "u", text), " 1 2");
    CHECK_INT(bench_run(&after), 0);
    bench_close(&after);
    bench_close(&b);
    clear_store(&home);
    clear_store(&away);
}

/* What a member's blob says of itself. */
void images_are_described(void)
{
    bench b;
    store disk = {.fail_after = -1};
    sf_error err = {0};
    open_pair(&b, NULL);
    sf_group_raise_epoch(b.group, 7);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(save(&b, &disk, true, &err), SF_OK);
    static const struct {
        const char *key, *source;
        bool reads;
    } asked[] = {{"member:t", "s", true},
                 {"member:t", "t", false},
                 {"member:t", NULL, false},
                 {"member:u", "s", false},
                 {"member:u", "t", false}}; /* a table is no source */
    for (size_t i = 0; i < SF_COUNT_OF(asked); i++) {
        const item *blob = find(&disk, asked[i].key, false, 0);
        uint64_t frontier = 0;
        bool reads = false;
        REQUIRE(blob);
        CHECK(sf_image_describe((sf_str){blob->bytes, blob->len}, asked[i].source, &frontier,
                                &reads));
        CHECK_INT(frontier, 7);
        CHECK_INT(reads, asked[i].reads);
    }
    const item *blob = find(&disk, "member:t", false, 0), *head = find(&disk, "group", false, 0);
    uint64_t frontier;
    bool reads = false;
    REQUIRE(blob && head);
    for (size_t len = 0; len < 24; len++) /* version, fingerprint, frontier, count */
        CHECK(!sf_image_describe((sf_str){blob->bytes, len}, "s", &frontier, &reads));
    CHECK(!sf_image_describe((sf_str){head->bytes, head->len}, "s", &frontier, &reads));
    bench_close(&b);
    clear_store(&disk);
}

/* The n-th call of the disk fails: the error goes up, and the next checkpoint makes up for it. */
void images_tell_failures(void)
{
    bench b, after;
    store disk = {.fail_after = -1};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_status status = SF_IO;
    int calls = 0;
    open_pair(&b, NULL);
    bench_push(&b, four, 4);
    CHECK_INT(bench_run(&b), 1);
    for (; calls < 100 && status == SF_IO; calls++) {
        disk.fail_after = calls;
        status = save(&b, &disk, false, &err);
    }
    CHECK_INT(status, SF_OK);
    CHECK(calls > 4); /* two blobs, the group's, at least one page each */
    status = SF_IO;
    for (calls = 0; calls < 100 && status == SF_IO; calls++) {
        open_pair(&after, b.log);
        disk.fail_after = calls;
        status = load(&after, &disk, NULL, &err);
        if (status == SF_OK)
            CHECK_STR(bench_answer(&after, "t", text), " 1:15 2:20 3:1");
        bench_close(&after);
    }
    CHECK_INT(status, SF_OK);
    CHECK(calls > 3);
    bench_close(&b);
    clear_store(&disk);
}

/* Bytes of a checkpoint are judged: any one of a blob changed or cut off never crashes. */
void images_are_not_trusted(void)
{
    bench b, after;
    store disk = {.fail_after = -1};
    sf_error err = {0};
    open_pair(&b, NULL);
    bench_push(&b, four, 4);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(save(&b, &disk, true, &err), SF_OK);
    item *head = find(&disk, "group", false, 0);
    REQUIRE(head);
    head->bytes[0] ^= 0x40; /* of a version to come */
    open_pair(&after, b.log);
    CHECK_INT(load(&after, &disk, NULL, &err), SF_UNSUPPORTED);
    bench_close(&after);
    head->bytes[0] ^= 0x40;
    item *blob = find(&disk, "member:t", false, 0);
    REQUIRE(blob && blob->len > 12);
    size_t whole = blob->len;
    for (size_t at = 0; at < 2 * whole; at++) {
        char *byte = &blob->bytes[at % whole];
        char kept = *byte;
        if (at < whole)
            *byte = (char)(kept ^ 0x55);
        else
            blob->len = at - whole;
        open_pair(&after, b.log);
        sf_status status = load(&after, &disk, NULL, &err);
        if (at < 12) /* version and fingerprint */
            CHECK(status == SF_UNSUPPORTED || status == SF_OK);
        bench_close(&after);
        *byte = kept;
        blob->len = whole;
    }
    bench_close(&b);
    clear_store(&disk);
}
