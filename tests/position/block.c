/* block.c - a bar of small cubes on two bones. */
#include "position/block.h"

#include <stdio.h>
#include <stdlib.h>

static void *grab(size_t count, size_t size)
{
    void *memory = aligned_alloc(64, (count * size + 127) / 64 * 64);
    if (memory == NULL) abort();
    memset(memory, 0, (count * size + 127) / 64 * 64);
    return memory;
}

static int32_t lattice(const block_def *d, int32_t i, int32_t j, int32_t k)
{
    return (i * (d->ny + 1) + j) * (d->nz + 1) + k;
}

/* Around the diagonal of the cube: all cubes alike, so neighbours fit. */
static void add_cube(block *b, int32_t i, int32_t j, int32_t k)
{
    static const int ways[6][2] = {{0, 1}, {1, 2}, {2, 0}, {1, 0}, {2, 1}, {0, 2}};
    for (int w = 0; w < 6; w++) {
        int32_t at[3] = {i, j, k}, *tet = b->tets + 4 * (int64_t)b->tet_count++;
        tet[0] = lattice(&b->def, at[0], at[1], at[2]);
        at[ways[w][0]]++;
        tet[1] = lattice(&b->def, at[0], at[1], at[2]);
        at[ways[w][1]]++;
        tet[2] = lattice(&b->def, at[0], at[1], at[2]);
        tet[3] = lattice(&b->def, i + 1, j + 1, k + 1);
    }
}

static void make_particles(block *b)
{
    const block_def *d = &b->def;
    double edge = (d->length > 0.0 ? d->length : 1.0) / d->nx;
    sup_random random = {7};
    for (int32_t i = 0; i <= d->nx; i++)
        for (int32_t j = 0; j <= d->ny; j++)
            for (int32_t k = 0; k <= d->nz; k++) {
                int32_t v = lattice(d, i, j, k);
                double *p = b->rest + 3 * (int64_t)v;
                p[0] = (i - 0.5 * d->nx) * edge;
                p[1] = (j - 0.5 * d->ny) * edge;
                p[2] = (k - 0.5 * d->nz) * edge;
                for (int c = 0; c < 3; c++)
                    p[c] += d->noise * edge * (sup_random_unit(&random) - 0.5);
                bool axis = fabs(p[1]) < 0.51 * edge && fabs(p[2]) < 0.51 * edge;
                b->kinematic[v] = (d->core && axis) || (d->left_end && i == 0);
            }
}

static void bind_block(block *b)
{
    static const sup_method method = {.name = "block", .version = 1};
    sup_context context = sup_context_resolve(NULL);
    sup_model_builder builder = {.allocator = context.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
    sup_model_header header = {0};
    sup_error error = {0};
    sup_pbd_def def = {b->particle_count, b->rest, b->tet_count, b->tets, b->kinematic, b->def.cluster_size};
    if (sup_pbd_bind(&context, &def, &builder, "pbd", NULL, &error) != SUP_OK ||
        sup_model_pack(&context, &method, &header, &builder, &b->model, &error) != SUP_OK ||
        sup_pbd_open(b->model, "pbd", &b->pbd, &error) != SUP_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    sup_model_builder_free(&builder);
}

block block_make(const block_def *def)
{
    block b = {.def = *def, .particle_count = (def->nx + 1) * (def->ny + 1) * (def->nz + 1)};
    b.rest = grab((size_t)b.particle_count * 3, 8);
    b.tets = grab((size_t)def->nx * (size_t)def->ny * (size_t)def->nz * 24, 4);
    b.kinematic = grab((size_t)b.particle_count, sizeof(bool));
    for (int32_t i = 0; i < def->nx; i++)
        for (int32_t j = 0; j < def->ny; j++)
            for (int32_t k = 0; k < def->nz; k++)
                add_cube(&b, i, j, k);
    make_particles(&b);
    bind_block(&b);
    b.state = grab(sup_pbd_state_size(&b.pbd), 1);
    b.guide = grab((size_t)b.pbd.slot_count, 16);
    b.guide_previous = grab((size_t)b.pbd.slot_count, 16);
    b.bone = grab((size_t)b.pbd.slot_count, 16);
    b.input = (sup_pbd_input){.settings = {.seconds = 0.01f,
                                           .stretch = 2e4,
                                           .volume = 1e6,
                                           .bind = 2e4,
                                           .follow = 4.0,
                                           .inertia = 1000.0}, /* water, a metre long */
                              .guide = b.guide,
                              .guide_previous = b.guide_previous,
                              .bone = b.bone,
                              .iterations = 12};
    block_pose(&b, 0.0, sup_affine_identity());
    sup_pbd_init(&b.pbd, b.state, b.guide);
    block_reset(&b);
    return b;
}

void block_free(block *b)
{
    sup_model_destroy(b->model);
    free(b->rest), free(b->tets), free(b->kinematic), free(b->state);
    free(b->guide), free(b->guide_previous), free(b->bone);
}

void block_pose(block *b, double angle, sup_affine whole)
{
    sup_affine bend =
        sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(sup_v3(0, 0, 1), angle), sup_v3(1, 1, 1));
    sup_affine joint[2] = {whole, sup_affine_multiply(whole, bend)};
    double half = 0.5 * (b->def.length > 0.0 ? b->def.length : 1.0);
    memcpy(b->guide_previous, b->guide, (size_t)b->pbd.slot_count * 16);
    for (int32_t v = 0; v < b->particle_count; v++) {
        sup_vec3d p = sup_v3(b->rest[3 * v], b->rest[3 * v + 1], b->rest[3 * v + 2]);
        double t = fmin(fmax(p.x / half * 3.0 + 0.5, 0.0), 1.0);
        sup_vec3d q = sup_v3_lerp(sup_affine_point(joint[0], p), sup_affine_point(joint[1], p), t);
        sup_v3_store(b->guide + 4 * (int64_t)b->pbd.slot[v], q);
        sup_vec3d foot = sup_v3(fmin(fmax(p.x, -half), half), 0, 0);
        sup_v3_store(b->bone + 4 * (int64_t)b->pbd.slot[v], sup_affine_point(joint[foot.x > 0.0], foot));
        b->bone[4 * (int64_t)b->pbd.slot[v] + 3] = (float)sup_v3_distance(p, foot);
    }
}

void block_reset(block *b)
{
    memcpy(b->guide_previous, b->guide, (size_t)b->pbd.slot_count * 16);
    sup_pbd_set_positions(&b->pbd, b->state, b->guide);
}

bool block_step(block *b, const sup_context *context)
{
    sup_context resolved = sup_context_resolve(context);
    return sup_pbd_step(&resolved, &b->pbd, b->state, &b->input);
}

double block_volume(const block *b, const float *rows)
{
    double sum = 0.0;
    for (int32_t t = 0; t < b->tet_count; t++) {
        sup_vec3d p[4];
        for (int k = 0; k < 4; k++) {
            int32_t v = b->tets[4 * t + k];
            p[k] = rows != NULL ? sup_v3_load(rows + 4 * (int64_t)b->pbd.slot[v])
                                : sup_v3(b->rest[3 * v], b->rest[3 * v + 1], b->rest[3 * v + 2]);
        }
        /* Every second way round of a cube's tets is left-handed. */
        double v6 = sup_v3_dot(sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0])), sup_v3_sub(p[3], p[0]));
        sum += (t % 6 < 3 ? 1.0 : -1.0) * v6 / 6.0;
    }
    return sum;
}

const float *block_at(const block *b, int32_t i, int32_t j, int32_t k)
{
    return sup_pbd_positions(&b->pbd, b->state) + 4 * (int64_t)b->pbd.slot[lattice(&b->def, i, j, k)];
}
