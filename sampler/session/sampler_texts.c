#include "sampler/base/enum_text.h"
#include "sampler/sampler.h"

const char *const sampler_engine_texts[] = { SAMPLER_ENGINES(ENUM_TEXT) NULL };
const char *const sampler_native_texts[] = { SAMPLER_NATIVE(ENUM_TEXT) NULL };
const char *const sampler_stop_texts[] = { SAMPLER_STOPS(ENUM_TEXT) NULL };
const char *const sampler_mode_texts[] = { SAMPLER_MODES(ENUM_TEXT) NULL };
const char *const sampler_async_texts[] = { SAMPLER_ASYNC(ENUM_TEXT) NULL };
const char *const sampler_state_texts[] = { SAMPLER_STATES(ENUM_TEXT) NULL };
