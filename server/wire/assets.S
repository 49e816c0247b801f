/* The files of the build of page and manual, found through the include path. */
#ifdef __CET__
#include <cet.h> /* without its note no shadow stack for the whole program */
#endif
    .section .rodata

.macro asset name, file
    .global \name\()_start
    .global \name\()_end
    .type \name\()_start, %object
    .type \name\()_end, %object
    .balign 8
\name\()_start:
    .incbin "\file"
\name\()_end:
    .byte 0
.endm

    asset asset_page, "page.html.gz"
    asset asset_page_csp, "page.csp"
    asset asset_page_meta, "page.meta"
    asset asset_manual, "manual.html.gz"
    asset asset_manual_csp, "manual.csp"
    asset asset_openapi, "openapi.json.gz"

    .section .note.GNU-stack, "", %progbits
