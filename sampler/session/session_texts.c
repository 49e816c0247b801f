#include "sampler/base/enum_text.h"
#include "sampler/session.h"

const char *const session_engine_texts[] = { SESSION_ENGINES(ENUM_TEXT) NULL };
const char *const session_native_texts[] = { SESSION_NATIVE(ENUM_TEXT) NULL };
const char *const session_stop_texts[] = { SESSION_STOPS(ENUM_TEXT) NULL };
const char *const session_mode_texts[] = { SESSION_MODES(ENUM_TEXT) NULL };
const char *const session_async_texts[] = { SESSION_ASYNC(ENUM_TEXT) NULL };
const char *const session_locals_texts[] = { SESSION_LOCALS(ENUM_TEXT) NULL };
const char *const session_state_texts[] = { SESSION_STATES(ENUM_TEXT) NULL };
