/* bench_volume.c - time and quality of tetrahedral meshes and embeddings.
 *
 *     bench_volume [threads, default 2] [scene, default human]
 *
 * A row per target number: times in seconds, best of three, with the given number of threads and with one; dihedral
 * angles in degrees; volume of the tetrahedra relative to the skin's; components; vertices with smooth weights. */
#include "volume/embed.h"

#include "supple/rig.h"
#include "supple/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct measurement {
    double mesh_s, embed_s;
    sup_tetmesh mesh;
    sup_embedding embedding;
} measurement;

static sup_result run(const sup_context *context, const sup_rig *rig, int32_t target, measurement *r, sup_error *error)
{
    r->mesh_s = r->embed_s = 1e9;
    for (int i = 0; i < 3; i++) {
        sup_tetmesh_def def = {.tet_target = target};
        if (i > 0) sup_embedding_free(&r->embedding);
        if (i > 0) sup_tetmesh_free(&r->mesh);
        double start = now();
        sup_result result = sup_tetmesh_create(context, rig->skin_vertex_count, rig->skin_positions,
                                               rig->skin_triangle_count, rig->skin_triangles, &def, &r->mesh, error);
        if (result != SUP_OK) return result;
        double middle = now();
        result = sup_embed(context, &r->mesh, rig->skin_vertex_count, rig->skin_positions, NULL, &r->embedding, error);
        if (result != SUP_OK) return result;
        double end = now();
        if (middle - start < r->mesh_s) r->mesh_s = middle - start;
        if (end - middle < r->embed_s) r->embed_s = end - middle;
    }
    return SUP_OK;
}

static int fail(const sup_error *error)
{
    fprintf(stderr, "bench_volume: %s\n", error->message);
    return 1;
}

int main(int argc, char **argv)
{
    int32_t threads = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 2;
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    if (sup_thread_pool_create(threads, &pool, &error) != SUP_OK) return fail(&error);
    sup_context one = sup_context_resolve(NULL), many = one;
    many.tasks = sup_thread_pool_tasks(pool);
    if (sup_scene_create(&many, argc > 2 ? argv[2] : "human", 1.0, &character, &error) != SUP_OK ||
        sup_rig_create(&many, character, NULL, &rig, &error) != SUP_OK)
        return fail(&error);
    printf("skin: %d vertices, %d triangles\n", rig->skin_vertex_count, rig->skin_triangle_count);
    printf("  wanted    tets vertices  mesh s  1 thread  embed s  spacing   finest  angles          volume  comps  "
           "smooth\n");
    static const int32_t targets[3] = {5000, 10000, 14000};
    for (int i = 0; i < 3; i++) {
        measurement r, single;
        if (run(&many, rig, targets[i], &r, &error) != SUP_OK || run(&one, rig, targets[i], &single, &error) != SUP_OK)
            return fail(&error);
        const sup_tetmesh_report *report = &r.mesh.report;
        printf("%8d %7d %8d  %6.2f  %8.2f  %7.3f  %7.4f  %7.4f  %5.1f to %5.1f  %5.1f %%  %5d  %4.1f %%\n", targets[i],
               r.mesh.tet_count, r.mesh.vertex_count, r.mesh_s, single.mesh_s, r.embed_s, report->spacing,
               report->finest, report->angle_min, report->angle_max, 100.0 * report->volume / report->solid_volume,
               r.mesh.component_count, 100.0 * r.embedding.smooth / rig->skin_vertex_count);
        sup_embedding_free(&r.embedding);
        sup_embedding_free(&single.embedding);
        sup_tetmesh_free(&r.mesh);
        sup_tetmesh_free(&single.mesh);
    }
    sup_rig_destroy(rig);
    sup_character_destroy(character);
    sup_thread_pool_destroy(pool);
    return 0;
}
