/* engine: the driver of circuits, without threads. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(markers_never_go_back),
    SF_CASE(relations_have_hidden_columns),
    SF_CASE(worlds_refuse),
    SF_CASE(worlds_answer),
    SF_CASE(worlds_grow),
    SF_CASE(worlds_have_time),
    SF_CASE(worlds_without_memory),
    SF_CASE(groups_work_in_epochs),
    SF_CASE(groups_read_from_a_position),
    SF_CASE(groups_end_readers_last),
    SF_CASE(failures_stay_with_their_member),
    SF_CASE(groups_merge),
    SF_CASE(groups_are_due),
    SF_CASE(images_come_back),
    SF_CASE(images_hold_what_changed),
    SF_CASE(images_are_of_a_query),
    SF_CASE(images_stand_on_their_inputs),
    SF_CASE(images_move),
    SF_CASE(images_are_described),
    SF_CASE(images_tell_failures),
    SF_CASE(images_are_not_trusted),
};

SF_RUN("engine", cases)
