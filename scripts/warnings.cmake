# The warnings for all files of the project. They do not apply to vendored and system headers.
include(CheckCCompilerFlag)

set(PYROMETER_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wformat=2 -Wundef -Wvla -Walloca -Wcast-align -Wcast-qual -Wpointer-arith -Wwrite-strings
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wmissing-declarations
    -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init)
# An optimised file alone does not show which pointers its functions get; the other presets have these warnings.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  list(REMOVE_ITEM PYROMETER_WARNINGS -Wnull-dereference)
endif()

add_library(pyrometer_options INTERFACE)
foreach(flag IN LISTS PYROMETER_WARNINGS)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
  check_c_compiler_flag(${flag} ${have})
  if(${have})
    target_compile_options(pyrometer_options INTERFACE ${flag})
  endif()
endforeach()
# POSIX everywhere; a file that needs more defines _GNU_SOURCE.
target_compile_definitions(pyrometer_options INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(pyrometer_options INTERFACE -fno-common -fno-strict-aliasing
                                                   -fno-omit-frame-pointer)
if(PYROMETER_WERROR)
  target_compile_options(pyrometer_options INTERFACE -Werror)
endif()
if(PYROMETER_SANITIZE)
  # Compilers say it in different ways.
  target_compile_definitions(pyrometer_options INTERFACE PYROMETER_IS_SANITIZED=1)
  target_compile_options(pyrometer_options INTERFACE -fsanitize=${PYROMETER_SANITIZE})
  target_link_options(pyrometer_options INTERFACE -fsanitize=${PYROMETER_SANITIZE})
else()
  target_compile_definitions(pyrometer_options INTERFACE PYROMETER_IS_SANITIZED=0)
endif()
