/* number_text.h (internal) - numbers as text, fast: the inner loop of text formats. */
#ifndef SUP_OUTPUT_NUMBER_TEXT_H
#define SUP_OUTPUT_NUMBER_TEXT_H

#include "base/base.h"

enum { SUP_NUMBER_TEXT = 17 }; /* bytes that one number takes at most */

/* A finite float with up to 9 significant digits, enough to read the same float back. Returns the end. */
char *sup_put_float(char *at, float value);
char *sup_put_int(char *at, int32_t value); /* not negative */

#endif
