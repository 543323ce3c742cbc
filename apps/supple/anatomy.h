/* anatomy.h - the verbs of `supple anatomy`; each gets its own name as argv[0]. */
#ifndef APP_ANATOMY_H
#define APP_ANATOMY_H

#include "app.h"

#endif
