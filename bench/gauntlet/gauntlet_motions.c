/* gauntlet_motions.c - the motions of check_gauntlet: own clips, motion capture, generated. */
#include "gauntlet.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double ROM_SECONDS = 0.4;  /* of each joint */
static const double CUT_SECONDS = 0.5;  /* between cuts of `snap` */
static const double FULL_SECONDS = 2.0; /* from here on motions have their full length; below: the reduced set */
static const double CUT_RADIANS = 1.0;  /* turn of a joint from the bind pose that makes `tpose` a cut */
enum { ROM_JOINTS = 24, QUICK_ROM_JOINTS = 4 };

/* Counts the motions of a character that are wanted, and chooses those of a share. */
typedef struct selector {
    const gauntlet_range *range;
    const char *character;
    int32_t next;
} selector;

bool gauntlet_wanted(const char *name, const char *filter)
{
    if (filter == NULL) return true;
    for (const char *at = filter;; at++) {
        size_t length = strcspn(at, ",");
        for (const char *p = name; length > 0 && *p != '\0'; p++)
            if (strncmp(p, at, length) == 0) return true;
        at += length;
        if (*at == '\0') return false;
    }
}

/* The index of the motion, -1 if it is not to be made. */
static int32_t choose(selector *s, const char *name)
{
    if (!gauntlet_wanted(name, s->range->filter)) return -1;
    if (s->range->quick && gauntlet_quick_methods(s->character, name) == NULL) return -1;
    int32_t index = s->next++;
    return index % s->range->share_count == s->range->share ? index : -1;
}

static gauntlet_motion create(const gauntlet_character *c, const char *name, double fps, int32_t frames)
{
    gauntlet_motion m = {.fps = fps, .frame_count = frames, .node_count = c->character->node_count, .hold_first = -1};
    snprintf(m.name, sizeof m.name, "%s", name);
    m.world = gauntlet_must(calloc((size_t)frames * (size_t)m.node_count, sizeof *m.world));
    return m;
}

static sup_mat34 *frame_of(const gauntlet_motion *m, int32_t frame)
{
    return m->world + (size_t)frame * (size_t)m->node_count;
}

/* --- Clips --- */

static void sample(const gauntlet_character *c, const sup_clip *clip, double time, sup_mat34 *world)
{
    if (sup_pose_sample(c->character, clip, time, c->pose) != SUP_OK) exit(1);
    memcpy(world, c->pose->world, (size_t)c->character->node_count * sizeof *world);
}

static double rotation_between(const sup_mat34 *a, const sup_mat34 *b)
{
    double trace = 0.0, la = 0.0, lb = 0.0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            trace += (double)a->m[4 * k + i] * (double)b->m[4 * k + i];
            la += (double)a->m[4 * k + i] * (double)a->m[4 * k + i];
            lb += (double)b->m[4 * k + i] * (double)b->m[4 * k + i];
        }
    double cosine = 1.5 * trace / fmax(sqrt(la * lb), 1e-30) - 0.5;
    return acos(fmax(-1.0, fmin(1.0, cosine)));
}

/* Largest speed of a joint between two frames, sizes a frame plus radians a frame. */
static double joint_speed(const gauntlet_character *c, const sup_mat34 *a, const sup_mat34 *b)
{
    double most = 0.0;
    for (int32_t j = 0; j < c->rig->joint_count; j++) {
        const sup_mat34 *p = &a[c->rig->joint_node[j]], *q = &b[c->rig->joint_node[j]];
        double square = 0.0;
        for (int k = 0; k < 3; k++) {
            double d = (double)q->m[4 * k + 3] - (double)p->m[4 * k + 3];
            square += d * d;
        }
        most = fmax(most, sqrt(square) / (double)c->rig->size + rotation_between(p, q));
    }
    return most;
}

/* The window of a clip around its fastest moment. `speed`: largest joint speed of the clip. */
static gauntlet_motion clip_window(const gauntlet_character *c, const sup_clip *clip, const char *name, double fps,
                                   double seconds, double *speed)
{
    int32_t all = sup_clip_frame_count(clip, fps), count = (int32_t)(seconds * fps) + 1, at = 0;
    gauntlet_motion whole = create(c, name, fps, all);
    *speed = 0.0;
    for (int32_t f = 0; f < all; f++) {
        sample(c, clip, sup_clip_frame_time(clip, fps, f), frame_of(&whole, f));
        double s = f > 0 ? joint_speed(c, frame_of(&whole, f - 1), frame_of(&whole, f)) : 0.0;
        if (s > *speed) *speed = s, at = f;
    }
    int32_t first = at - count / 2;
    if (first > all - count) first = all - count;
    if (first < 0) first = 0;
    if (count > all - first) count = all - first;
    memmove(whole.world, frame_of(&whole, first), (size_t)count * (size_t)whole.node_count * sizeof *whole.world);
    whole.frame_count = count;
    return whole;
}

gauntlet_motion gauntlet_every(const gauntlet_motion *m, int32_t step)
{
    gauntlet_motion out = *m;
    out.fps = m->fps / (double)step;
    out.frame_count = (m->frame_count + step - 1) / step;
    out.hold_first = m->hold_first >= 0 ? (m->hold_first + step - 1) / step : -1;
    out.cut_spacing = m->cut_spacing / step; /* 0 for tpose: its first frame becomes part of the motion */
    out.world = gauntlet_must(malloc((size_t)out.frame_count * (size_t)m->node_count * sizeof *out.world));
    for (int32_t f = 0; f < out.frame_count; f++)
        memcpy(frame_of(&out, f), frame_of(m, f * step), (size_t)m->node_count * sizeof *out.world);
    return out;
}

/* Makes the window of a clip, if it is wanted, and uses it. */
static void use_clip(gauntlet_character *c, const sup_clip *clip, const char *name, int32_t index,
                     const gauntlet_range *range, gauntlet_use *use, void *user)
{
    double speed;
    gauntlet_motion m = clip_window(c, clip, name, range->fps, range->seconds, &speed);
    m.index = index;
    use(user, c, &m);
    free(m.world);
}

static void own_clips(gauntlet_character *c, selector *s, gauntlet_use *use, void *user)
{
    double fps = s->range->fps;
    int32_t chosen[3] = {-1, -1, -1};
    double fastest = -1.0, slowest = INFINITY, longest = -1.0;
    for (int32_t i = 0; i < c->character->clip_count; i++) {
        const sup_clip *clip = &c->character->clips[i];
        double speed, length = (double)clip->end - (double)clip->start;
        if (sup_clip_frame_count(clip, fps) < 4) continue;
        gauntlet_motion m = clip_window(c, clip, clip->name, 15.0, s->range->seconds, &speed);
        free(m.world);
        if (speed > fastest) fastest = speed, chosen[0] = i;
        if (speed < slowest && speed > 1e-4) slowest = speed, chosen[1] = i;
        if (length > longest) longest = length, chosen[2] = i;
    }
    for (int k = 0; k < 3; k++) {
        if (chosen[k] < 0 || (k > 0 && chosen[k] == chosen[0]) || (k > 1 && chosen[k] == chosen[1])) continue;
        const sup_clip *clip = &c->character->clips[chosen[k]];
        char name[GAUNTLET_NAME];
        snprintf(name, sizeof name, "clip_%s", clip->name[0] != '\0' ? clip->name : "unnamed");
        int32_t index = choose(s, name);
        if (index >= 0) use_clip(c, clip, name, index, s->range, use, user);
    }
}

/* The name of the joint on the other side of the body, from that of a left one; false for other joints. */
static bool mirror_name(const char *name, char *mirrored, size_t size)
{
    static const char *const sides[][2] = {{"Left", "Right"}, {"left", "right"}, {".L", ".R"}, {".l", ".r"},
                                           {"_L", "_R"},      {"_l", "_r"},      {"L_", "R_"}};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        const char *at = strstr(name, sides[i][0]);
        if (at == NULL) continue;
        snprintf(mirrored, size, "%.*s%s%s", (int)(at - name), name, sides[i][1], at + strlen(sides[i][0]));
        return true;
    }
    return false;
}

/* The horizontal axis, 0 or 2, along which left and right joints are farthest apart. */
static int lateral_axis(const sup_rig *rig)
{
    const sup_node *nodes = rig->character->nodes;
    double apart[3] = {0};
    for (int32_t a = 0; a < rig->joint_count; a++) {
        char other[GAUNTLET_NAME];
        if (!mirror_name(nodes[rig->joint_node[a]].name, other, sizeof other)) continue;
        for (int32_t b = 0; b < rig->joint_count; b++)
            for (int k = 0; k < 3 && strcmp(nodes[rig->joint_node[b]].name, other) == 0; k++)
                apart[k] += fabs((double)rig->joint_bind[a].m[4 * k + 3] - (double)rig->joint_bind[b].m[4 * k + 3]);
    }
    return apart[2] > apart[0] ? 2 : 0;
}

/* Whether the body is upright: higher than 1.5 times its depth. Motion capture of people is not meant for others. */
static bool is_humanoid(const sup_rig *rig)
{
    float lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        for (int k = 0; k < 3; k++) {
            lower[k] = fminf(lower[k], rig->skin_positions[3 * v + k]);
            upper[k] = fmaxf(upper[k], rig->skin_positions[3 * v + k]);
        }
    int depth = 2 - lateral_axis(rig);
    return upper[1] - lower[1] > 1.5f * (upper[depth] - lower[depth]);
}

static void motion_capture(gauntlet_character *c, const char *assets, selector *s, gauntlet_use *use, void *user)
{
    char folder[512], *names[64];
    int32_t count = 0;
    snprintf(folder, sizeof folder, "%s/bvh", assets);
    DIR *dir = is_humanoid(c->rig) ? opendir(folder) : NULL;
    if (dir == NULL) return;
    for (struct dirent *e = readdir(dir); e != NULL && count < 64; e = readdir(dir))
        if (strstr(e->d_name, ".bvh") != NULL) names[count++] = gauntlet_must(strdup(e->d_name));
    closedir(dir);
    qsort(names, (size_t)count, sizeof *names, gauntlet_by_name);
    for (int32_t i = 0; i < count; i++) {
        char path[1024], name[GAUNTLET_NAME];
        sup_clip *clip = NULL;
        sup_error error = {0};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        snprintf(name, sizeof name, "bvh_%.*s", (int)(strlen(names[i]) - 4), names[i]);
        free(names[i]);
        int32_t index = choose(s, name);
        if (index < 0 || sup_load_motion(NULL, path, NULL, c->character, NULL, &clip, &error) != SUP_OK) continue;
        sup_clip_despike(clip); /* as the program does */
        use_clip(c, clip, name, index, s->range, use, user);
        sup_clip_destroy(clip);
    }
}

/* --- Generated --- */

typedef struct generator {
    const gauntlet_character *c;
    double fps, seconds;
    sup_transform *rest, *local; /* [node_count] */
    uint32_t seed;
} generator;

static double uniform(generator *g) /* [-1, 1] */
{
    g->seed = g->seed * 1664525u + 1013904223u;
    return (double)(g->seed >> 8) / 8388608.0 - 1.0;
}

static sup_quat multiply(sup_quat a, sup_quat b)
{
    return (sup_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                      a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* A rotation of a node about an axis of its own space. */
static void rotate(generator *g, int32_t node, int axis, double radians)
{
    float s = (float)sin(0.5 * radians), w = (float)cos(0.5 * radians);
    sup_quat q = {axis == 0 ? s : 0.0f, axis == 1 ? s : 0.0f, axis == 2 ? s : 0.0f, w};
    g->local[node].rotation = multiply(g->local[node].rotation, q);
}

static void begin_frame(generator *g)
{
    memcpy(g->local, g->rest, (size_t)g->c->character->node_count * sizeof *g->local);
}

static void end_frame(generator *g, sup_mat34 *world)
{
    if (sup_pose_from_local(g->c->character, g->local, g->c->pose) != SUP_OK) exit(1);
    memcpy(world, g->c->pose->world, (size_t)g->c->character->node_count * sizeof *world);
}

/* Every joint swings about two of its axes by up to 50 degrees, one joint after the other; the joints nearest to the
 * root, at most ROM_JOINTS; in the reduced set some of them. */
static gauntlet_motion rom(generator *g)
{
    const sup_rig *rig = g->c->rig;
    int32_t all = rig->joint_count < ROM_JOINTS ? rig->joint_count : ROM_JOINTS;
    int32_t joints = g->seconds < FULL_SECONDS && all > QUICK_ROM_JOINTS ? QUICK_ROM_JOINTS : all;
    int32_t frames = (int32_t)(ROM_SECONDS * g->fps + 0.5);
    if (frames < 1) frames = 1;
    gauntlet_motion m = create(g->c, "rom", g->fps, joints * frames + 1);
    for (int32_t f = 0; f < m.frame_count; f++) {
        int32_t k = f / frames < joints ? f / frames : joints - 1, joint = k * all / joints;
        double t = (double)(f % frames) / frames;
        begin_frame(g);
        rotate(g, rig->joint_node[joint], 0, 50.0 / 180.0 * PI * sin(2.0 * PI * t));
        rotate(g, rig->joint_node[joint], 2, 35.0 / 180.0 * PI * sin(4.0 * PI * t));
        end_frame(g, frame_of(&m, f));
    }
    return m;
}

static int32_t root_joint_node(const gauntlet_character *c)
{
    for (int32_t j = 0; j < c->rig->joint_count; j++)
        if (c->rig->joint_parent[j] < 0) return c->rig->joint_node[j];
    return 0;
}

/* The root spins at 720 degrees a second about its own axis, all other joints are bent by up to 35 degrees. */
static gauntlet_motion tumble(generator *g)
{
    const sup_rig *rig = g->c->rig;
    gauntlet_motion m = create(g->c, "tumble", g->fps, (int32_t)(g->seconds * g->fps) + 1);
    for (int32_t f = 0; f < m.frame_count; f++) {
        double t = (double)f / g->fps, tuck = fmin(1.0, 2.0 * t);
        begin_frame(g);
        for (int32_t j = 0; j < rig->joint_count; j++)
            if (rig->joint_parent[j] >= 0 && rig->joint_parent[rig->joint_parent[j]] >= 0)
                rotate(g, rig->joint_node[j], 0, 35.0 / 180.0 * PI * tuck);
        rotate(g, root_joint_node(g->c), 0, 4.0 * PI * t * fmin(1.0, 4.0 * t));
        end_frame(g, frame_of(&m, f));
    }
    return m;
}

/* Cuts between random poses, each held for half a second, the last one for a second. */
static gauntlet_motion snap(generator *g)
{
    const sup_rig *rig = g->c->rig;
    int32_t spacing = (int32_t)(CUT_SECONDS * g->fps + 0.5), cuts = (int32_t)(g->seconds / CUT_SECONDS + 0.5) - 1;
    gauntlet_motion m = create(g->c, "snap", g->fps, (cuts + 2) * spacing + 1);
    m.cut_spacing = spacing;
    m.cut_count = cuts;
    for (int32_t f = 0; f < m.frame_count; f++) {
        if (f % spacing == 0 && f <= cuts * spacing) {
            begin_frame(g);
            for (int32_t j = 0; j < rig->joint_count; j++)
                for (int axis = 0; axis < 3; axis++)
                    rotate(g, rig->joint_node[j], axis, 0.45 * uniform(g));
        }
        end_frame(g, frame_of(&m, f));
    }
    return m;
}

/* A pose with 0.1 degree of noise in every joint. */
static gauntlet_motion tremble(generator *g)
{
    const sup_rig *rig = g->c->rig;
    gauntlet_motion m = create(g->c, "tremble", g->fps, (int32_t)(g->seconds * g->fps) + 1);
    for (int32_t f = 0; f < m.frame_count; f++) {
        begin_frame(g);
        for (int32_t j = 0; j < rig->joint_count; j++) {
            if (rig->joint_parent[j] >= 0) rotate(g, rig->joint_node[j], 0, 0.3);
            for (int axis = 0; axis < 3; axis++)
                rotate(g, rig->joint_node[j], axis, 0.1 / 180.0 * PI * uniform(g));
        }
        end_frame(g, frame_of(&m, f));
    }
    return m;
}

/* Authored scale of three joints between 0.5 and 2, out of phase. */
static gauntlet_motion stretch(generator *g)
{
    const sup_rig *rig = g->c->rig;
    gauntlet_motion m = create(g->c, "stretch", g->fps, (int32_t)(g->seconds * g->fps) + 1);
    for (int32_t f = 0; f < m.frame_count; f++) {
        begin_frame(g);
        for (int k = 0; k < 3; k++) {
            int32_t node = rig->joint_node[(rig->joint_count - 1) * k / 3];
            float s = (float)exp2(sin(2.0 * PI * ((double)f / (double)(m.frame_count - 1))) * (k == 1 ? -1.0 : 1.0));
            sup_vec3 *scale = &g->local[node].scale;
            scale->x *= s, scale->y *= s, scale->z *= s;
        }
        end_frame(g, frame_of(&m, f));
    }
    return m;
}

/* The whole first clip of a character; `deepest`: the frame whose pose is farthest from the first one. */
static gauntlet_motion whole_clip(const gauntlet_character *c, const char *name, double fps, int32_t *deepest)
{
    const sup_clip *clip = &c->character->clips[0];
    gauntlet_motion whole = create(c, name, fps, sup_clip_frame_count(clip, fps));
    double largest = -1.0;
    for (int32_t f = 0; f < whole.frame_count; f++) {
        double bend = 0.0;
        sample(c, clip, sup_clip_frame_time(clip, fps, f), frame_of(&whole, f));
        for (int32_t j = 0; j < c->rig->joint_count; j++)
            bend += rotation_between(&frame_of(&whole, 0)[c->rig->joint_node[j]],
                                     &frame_of(&whole, f)[c->rig->joint_node[j]]);
        if (bend > largest) largest = bend, *deepest = f;
    }
    return whole;
}

/* A clip up to its deepest pose, held there for three seconds (1.5 in the reduced set). */
static bool hold(const generator *g, gauntlet_motion *m)
{
    int32_t at = 0, lead = (int32_t)(0.25 * g->seconds * g->fps), held = (int32_t)(1.5 * g->seconds * g->fps);
    if (g->c->character->clip_count == 0) return false;
    gauntlet_motion whole = whole_clip(g->c, "hold", g->fps, &at);
    int32_t first = at > lead ? at - lead : 0, moving = at - first + 1;
    *m = create(g->c, "hold", g->fps, moving + held);
    for (int32_t f = 0; f < m->frame_count; f++)
        memcpy(frame_of(m, f), frame_of(&whole, f < moving ? first + f : at),
               (size_t)m->node_count * sizeof(sup_mat34));
    m->hold_first = moving - 1;
    free(whole.world);
    return true;
}

/* The bind pose in frame 0, as motion capture begins, then a clip from its deepest pose on: a cut. None if the two
 * poses hardly differ. */
static bool bind_pose_first(generator *g, gauntlet_motion *m)
{
    int32_t at = 0;
    if (g->c->character->clip_count == 0) return false;
    gauntlet_motion whole = whole_clip(g->c, "tpose", g->fps, &at);
    *m = create(g->c, "tpose", g->fps, (int32_t)g->fps + 2);
    begin_frame(g);
    end_frame(g, frame_of(m, 0));
    for (int32_t f = 1; f < m->frame_count; f++) {
        int32_t from = at + f - 1 < whole.frame_count ? at + f - 1 : whole.frame_count - 1;
        memcpy(frame_of(m, f), frame_of(&whole, from), (size_t)m->node_count * sizeof(sup_mat34));
    }
    m->cut_spacing = m->cut_count = 1;
    free(whole.world);
    if (joint_speed(g->c, frame_of(m, 0), frame_of(m, 1)) >= CUT_RADIANS) return true;
    free(m->world);
    return false;
}

static void generated(gauntlet_character *c, selector *s, gauntlet_use *use, void *user)
{
    static gauntlet_motion (*const make[])(generator *) = {rom, tumble, snap, tremble, stretch};
    static const char *const names[] = {"rom", "tumble", "snap", "tremble", "stretch"};
    size_t nodes = (size_t)c->character->node_count;
    generator g = {.c = c, .fps = s->range->fps, .seconds = s->range->seconds};
    g.rest = gauntlet_must(calloc(nodes, sizeof *g.rest));
    g.local = gauntlet_must(calloc(nodes, sizeof *g.local));
    for (size_t i = 0; i < nodes; i++)
        g.rest[i] = c->character->nodes[i].rest;
    for (size_t i = 0; i < sizeof make / sizeof make[0]; i++) {
        int32_t index = choose(s, names[i]);
        if (index < 0) continue;
        g.seed = 12345;
        gauntlet_motion made = make[i](&g);
        made.index = index;
        use(user, c, &made);
        free(made.world);
    }
    gauntlet_motion m;
    int32_t index = choose(s, "hold");
    if (index >= 0 && hold(&g, &m)) {
        m.index = index;
        use(user, c, &m);
        free(m.world);
    }
    index = choose(s, "tpose");
    if (index >= 0 && bind_pose_first(&g, &m)) {
        m.index = index;
        use(user, c, &m);
        free(m.world);
    }
    free(g.rest);
    free(g.local);
}

void gauntlet_each_motion(gauntlet_character *character, const char *assets, const gauntlet_range *range,
                          gauntlet_use *use, void *user)
{
    selector s = {.range = range, .character = character->name};
    own_clips(character, &s, use, user);
    motion_capture(character, assets, &s, use, user);
    generated(character, &s, use, user);
}
