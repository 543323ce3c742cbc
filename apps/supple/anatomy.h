/* anatomy.h - the verbs of `supple anatomy`; each gets its own name as argv[0]. */
#ifndef APP_ANATOMY_H
#define APP_ANATOMY_H

#include "app.h"

int app_anatomy_template(int argc, char **argv);
int app_anatomy_train(int argc, char **argv);
int app_anatomy_register(int argc, char **argv);
int app_anatomy_fit(int argc, char **argv);
int app_anatomy_grow(int argc, char **argv);

#endif
