/* persistent_view.cuh (internal) - shared memory of a block of step_persistent.cu: its subdomain of the character,
 * the data of the iterations, and its tile of S^-1. */
#ifndef SUP_CUDA_PERSISTENT_VIEW_CUH
#define SUP_CUDA_PERSISTENT_VIEW_CUH

#include "cuda/persistent_messages.cuh"
#include "cuda/step_subdomain.cuh"

enum {
    T = STEP_SINGLE_THREADS,
    SOLVERS =
        T - 64, /* threads that solve or compute rotations, while two warps control the step or compute pressures */
    LIMIT = SUP_SUBDOMAIN_LIMIT_SINGLE,
    TILE_COLUMNS = 256, /* maximum */
    TILE_ROWS = 5,      /* per warp and pass */
    HALVES = 3 * T      /* maximum number of partial sums of threads that share a row */
};

/* S^-1 in tiles, one per block: about square tiles minimise the number of messages that all blocks read. */
struct schur_tiles {
    int across, down, columns, rows; /* number of tiles; size of one */
    __host__ __device__ schur_tiles(const sup_gpu_system &s, int blocks)
    {
        across = s.separator_count > TILE_COLUMNS ? (s.separator_count + TILE_COLUMNS - 1) / TILE_COLUMNS : 1;
        down = blocks / across > 1 ? blocks / across : 1;
        columns = ((s.separator_count + across - 1) / across + 3) / 4 * 4;
        rows = (s.separator_count + down - 1) / down;
    }
};

/* Offsets in floats. */
struct persistent_sizes {
    size_t solve, in, slot_gradient, y, slots, force, wedges, sums, x, foot_points, pressure, direction, base, inertial,
        pack, tets, weights, region_slots, tile, residual, row_residual, range, all;
    __host__ __device__ size_t take(size_t floats)
    {
        const size_t at = all;
        all += (floats + 3) / 4 * 4;
        return at;
    }
    __host__ __device__ persistent_sizes(const sup_gpu_system &s, int blocks)
    {
        const schur_tiles top(s, blocks);
        const size_t forces = 3 * SUP_SUBDOMAIN_FORCES * (size_t)s.max_prisms, nodes = LIMIT + (size_t)s.max_slots;
        const size_t batches = ((size_t)s.max_prisms + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES;
        all = 0;
        solve = take((size_t)LIMIT * s.solve_stride);
        in = take(4 * LIMIT);
        slot_gradient = take(4 * (size_t)s.max_slots);
        y = take(4 * LIMIT);
        slots = take(4 * (size_t)s.max_slots);
        force = take(forces > HALVES ? forces : (size_t)HALVES);
        wedges = take((size_t)s.max_prisms);
        sums = take(32 * SUP_GPU_SUMS_PADDED);
        x = take(3 * (size_t)s.max_local);
        foot_points = take(s.volume > 0.0f ? 4 * (size_t)s.max_local : 0);
        pressure = take(2 * (size_t)s.max_region_slots);
        direction = take(3 * SUP_SOLVER_HISTORY * nodes);
        base = take(3 * nodes);
        inertial = take(3 * nodes);
        pack = take((size_t)s.max_pack / sizeof(float));
        tets = take(batches * SUP_PRISM_FLOATS);
        weights = take((size_t)s.max_blend);
        region_slots = take(((size_t)s.max_blend + 7) / 8 * 4);
        tile = take((size_t)top.rows * top.columns);
        residual = take(3 * (size_t)top.columns);
        row_residual = take(4 * (size_t)top.rows);
        range = take(2 * ((size_t)top.columns + top.rows));
    }
};

/* A block's tile. */
struct tile_view {
    const float *numbers;                         /* [rows*columns] of S^-1 */
    float *residual;                              /* [3*columns] residual of the separator: x, then y, then z */
    float4 *row_residual;                         /* [row_count] the same at its rows */
    const int2 *range;                            /* [columns+row_count] slots of those nodes */
    float *sums;                                  /* [warps] */
    int columns, first_row, row_count, first_out; /* first_out: of its messages */
};

/* A block's subdomain. */
struct subdomain_view {
    block_view<1> b;
    const float *solve; /* [count*stride] subdomains.h */
    int stride, max_nodes;
    float4 *in, *slot_gradient, *y, *slots;
    float *half;                        /* the same memory as the forces */
    float *wedges;                      /* [max_prisms] six times their volume */
    float *direction, *base, *inertial; /* three floats per node; stride of directions: max_nodes */
    int nodes;                          /* unknowns and slots */
    int wide, slices, slice, row; /* threads per slice of the columns; the thread's slice and row in the first half */
    __device__ subdomain_view(const sup_subdomain &subdomain) : b(subdomain)
    {
    }
    __device__ float *older(int j, int i) const
    {
        return direction + 3 * (j * max_nodes + i);
    }
};

static __device__ void copy_floats(float *to, const void *from, size_t count)
{
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < (int)count; i += T * 4)
        copy_chunk(to + i, (const float *)from + i);
}

/* Begins to copy the subdomain, which is constant. */
static __device__ void load_persistent(const sup_gpu_system &s, float *shared, const persistent_sizes &size)
{
    const sup_subdomain &from = s.subdomains[blockIdx.x];
    const size_t prisms = ((size_t)from.prism_count + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
    const size_t blends = (size_t)from.blend_count * from.prism_stride;
    copy_floats(shared + size.pack, s.pack + (size_t)blockIdx.x * s.max_pack, s.max_pack / sizeof(float));
    copy_floats(shared + size.solve, s.solve + (size_t)blockIdx.x * LIMIT * s.solve_stride,
                (size_t)from.count * s.solve_stride);
    end_group();
    copy_floats(shared + size.tets, s.tets + (size_t)from.prism_first / SUP_PRISM_LANES * SUP_PRISM_FLOATS, prisms);
    copy_floats(shared + size.weights, s.blend_weight + from.blend_first, blends);
    copy_floats(shared + size.region_slots, s.blend_region_slot + from.blend_first, blends / 2);
}

static __device__ subdomain_view open_persistent(const sup_gpu_system &s, float *shared, const persistent_sizes &size,
                                                 sup_subdomain &subdomain)
{
    const sup_subdomain *from =
        &s.subdomains[min((int)blockIdx.x, s.subdomain_count - 1)]; /* blocks without a subdomain: any */
    for (int i = threadIdx.x; i < (int)(sizeof subdomain / sizeof(int)); i += T)
        ((int *)&subdomain)[i] = ((const int *)from)[i];
    subdomain_view v(subdomain);
    v.solve = shared + size.solve;
    v.stride = s.solve_stride;
    v.max_nodes = LIMIT + s.max_slots;
    v.in = (float4 *)(shared + size.in);
    v.slot_gradient = (float4 *)(shared + size.slot_gradient);
    v.y = (float4 *)(shared + size.y);
    v.slots = (float4 *)(shared + size.slots);
    v.half = shared + size.force;
    v.wedges = shared + size.wedges;
    v.direction = shared + size.direction;
    v.base = shared + size.base;
    v.inertial = shared + size.inertial;
    v.nodes = from->count + from->slot_count;
    v.wide = (v.nodes + 31) / 32 * 32;
    v.slices = T / v.wide;
    v.slice = (int)threadIdx.x / v.wide;
    v.row = (int)threadIdx.x - v.slice * v.wide;
    v.b.first = 0;
    v.b.live = 1;
    v.b.force = shared + size.force;
    v.b.sums = shared + size.sums;
    v.b.x = shared + size.x;
    v.b.foot_points = shared + size.foot_points;
    v.b.foot_point_count = 1;
    v.b.foot_point_step = 0;
    v.b.pressure = shared + size.pressure;
    v.b.pack = (const unsigned char *)(shared + size.pack);
    v.b.tets = shared + size.tets;
    v.b.blend_weight = shared + size.weights;
    v.b.blend_region_slot = (const uint16_t *)(shared + size.region_slots);
    return v;
}

/* Begins to copy the block's tile. */
static __device__ tile_view open_tile(const sup_gpu_system &s, float *shared, const persistent_sizes &size)
{
    const schur_tiles top(s, (int)gridDim.x);
    const int across = (int)blockIdx.x % top.across, down = (int)blockIdx.x / top.across;
    const int first_column = across * top.columns;
    float *numbers = shared + size.tile;
    int2 *range = (int2 *)(shared + size.range);
    tile_view t;
    t.numbers = numbers;
    t.residual = shared + size.residual;
    t.row_residual = (float4 *)(shared + size.row_residual);
    t.range = range;
    t.sums = shared + size.sums;
    t.columns = top.columns;
    t.first_row = min(down * top.rows, s.separator_count);
    t.row_count = down < top.down ? min(top.rows, s.separator_count - t.first_row) : 0;
    t.first_out = across * s.separator_count + t.first_row;
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < t.row_count * top.columns; i += T * 4) {
        const int row = i / top.columns, at = first_column + i - row * top.columns;
        if (at < s.separator_stride)
            copy_chunk(numbers + i, s.schur_inverse + (size_t)(t.first_row + row) * s.separator_stride + at);
        else
            *(float4 *)(numbers + i) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    end_group();
    for (int i = threadIdx.x; i < top.columns + t.row_count; i += T) {
        const int node = i < top.columns ? first_column + i : t.first_row + i - top.columns;
        range[i] = node < s.separator_count ? make_int2(s.separator_first[node], s.separator_first[node + 1])
                                            : make_int2(0, 0);
    }
    return t;
}

#endif
