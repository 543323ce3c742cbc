/* number_text.h (internal) - fast number formatting, the inner loop of text formats. */
#ifndef SUP_OUTPUT_NUMBER_TEXT_H
#define SUP_OUTPUT_NUMBER_TEXT_H

#include "base/base.h"

enum { SUP_NUMBER_TEXT = 17 }; /* maximum bytes of one number */

/* Writes a finite float with up to 9 significant digits, which parse to the same float. Returns the end. */
char *sup_put_float(char *at, float value);
char *sup_put_int(char *at, int32_t value); /* not negative */

#endif
