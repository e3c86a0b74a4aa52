/* Rows of tables, results of pipelines, as JSON and as CSV. */
#include "api/inside.h"

enum { ROWS_DEFAULT = 100, CSV_ROWS_DEFAULT = 10000 };

sf_status sf_route_rows(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    int64_t limit, offset;
    SF_TRY(sf_api_number(call, "limit", ROWS_DEFAULT, &limit, err));
    SF_TRY(sf_api_number(call, "offset", 0, &offset, err));
    sf_status status =
        sf_service_rows(api->service, call->caller, call->params[0], limit, offset, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

static sf_http_stream_state take_csv(void *self, size_t max_bytes, sf_buf *out)
{
    bool more;
    if (sf_csv_take(self, max_bytes, out, &more, NULL) != SF_OK)
        return SF_HTTP_STREAM_FAILED;
    return more ? SF_HTTP_STREAM_MORE : SF_HTTP_STREAM_END;
}

static void free_csv(void *self)
{
    sf_csv_free(self);
}

sf_status sf_route_rows_csv(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_csv *csv;
    int64_t limit, offset;
    SF_TRY(sf_api_number(call, "limit", CSV_ROWS_DEFAULT, &limit, err));
    SF_TRY(sf_api_number(call, "offset", 0, &offset, err));
    sf_status status = sf_service_rows_csv(api->service, call->caller, call->params[0], limit,
                                           offset, &csv, &answer, err);
    bool streams = status == SF_OK;
    if (streams) /* the body comes piece by piece */
        answer.http_status = 200;
    status = sf_api_reply(status, &answer, out, err);
    if (streams) {
        out->content_type = "text/csv; charset=utf-8";
        out->stream = (sf_http_stream){take_csv, free_csv, csv};
    }
    return status;
}

sf_status sf_route_results(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    int64_t limit;
    SF_TRY(sf_api_number(call, "limit", ROWS_DEFAULT, &limit, err));
    sf_status status =
        sf_service_results(api->service, call->caller, call->params[0], limit, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_results_csv(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    int64_t limit;
    SF_TRY(sf_api_number(call, "limit", CSV_ROWS_DEFAULT, &limit, err));
    sf_status status =
        sf_service_results_csv(api->service, call->caller, call->params[0], limit, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}
