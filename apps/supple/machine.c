/* machine.c - describes the machine that times are measured on. */
#include "app.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value of the first line "model name : ..." of /proc/cpuinfo, else `default_value`. */
static void find_processor(char *text, size_t size, const char *default_value)
{
    char line[400];
    FILE *file = fopen("/proc/cpuinfo", "rb");
    snprintf(text, size, "%s", default_value);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file != NULL) fclose(file);
}

app_machine app_machine_find(void)
{
    app_machine machine = {0};
    struct utsname names;
    bool known = uname(&names) == 0;
    find_processor(machine.processor, sizeof machine.processor, known ? names.machine : "unknown");
    if (known) snprintf(machine.system, sizeof machine.system, "%.60s %.60s", names.sysname, names.release);
    machine.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__clang__)
    snprintf(machine.compiler, sizeof machine.compiler, "clang %d.%d", __clang_major__, __clang_minor__);
#elif defined(__GNUC__)
    snprintf(machine.compiler, sizeof machine.compiler, "gcc %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
    return machine;
}
