/* persistent_view.cuh (internal) - what a block of step_persistent.cu keeps in fast memory: its part of the character, everything that
 * iterations remember of it, and its tile of S^-1. */
#ifndef SUP_CUDA_PERSISTENT_VIEW_CUH
#define SUP_CUDA_PERSISTENT_VIEW_CUH

#include "cuda/persistent_messages.cuh"
#include "cuda/step_subdomain.cuh"

enum {
    T = STEP_ALONE_THREADS,
    SOLVERS = T - 64, /* threads that solve or find rotations, while two warps decide or find pressures */
    LIMIT = SUP_SUBDOMAIN_ALONE,
    TILE_COLUMNS = 256, /* at most */
    TILE_ROWS = 5,      /* a warp, at a time */
    HALVES = 3 * T      /* numbers that threads that share a row leave for each other, at most */
};

/* S^-1 in tiles, one a block: what all blocks together read of the parts' words is least where tiles are about square. */
struct top_shape {
    int across, down, columns, rows; /* tiles; numbers of one */
    __host__ __device__ top_shape(const sup_gpu_system &s, int blocks)
    {
        across = s.top_count > TILE_COLUMNS ? (s.top_count + TILE_COLUMNS - 1) / TILE_COLUMNS : 1;
        down = blocks / across > 1 ? blocks / across : 1;
        columns = ((s.top_count + across - 1) / across + 3) / 4 * 4;
        rows = (s.top_count + down - 1) / down;
    }
};

/* Where everything begins, in floats. */
struct alone_sizes {
    size_t solve, in, left, y, slots, force, columns, sums, x, feet, pressure, direction, base, inertial, pack, tets, weights,
        seats, tile, rest, row_rest, range, all;
    __host__ __device__ size_t take(size_t floats)
    {
        const size_t at = all;
        all += (floats + 3) / 4 * 4;
        return at;
    }
    __host__ __device__ alone_sizes(const sup_gpu_system &s, int blocks)
    {
        const top_shape top(s, blocks);
        const size_t forces = 3 * SUP_SUBDOMAIN_FORCES * (size_t)s.most_prisms, places = LIMIT + (size_t)s.most_slots;
        const size_t batches = ((size_t)s.most_prisms + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES;
        all = 0;
        solve = take((size_t)LIMIT * s.solve_stride);
        in = take(4 * LIMIT);
        left = take(4 * (size_t)s.most_slots);
        y = take(4 * LIMIT);
        slots = take(4 * (size_t)s.most_slots);
        force = take(forces > HALVES ? forces : (size_t)HALVES);
        columns = take((size_t)s.most_prisms);
        sums = take(32 * SUP_GPU_SUMS_ALL);
        x = take(3 * (size_t)s.most_local);
        feet = take(s.volume > 0.0f ? 4 * (size_t)s.most_local : 0);
        pressure = take(2 * (size_t)s.most_seats);
        direction = take(3 * SUP_GPU_HISTORY * places);
        base = take(3 * places);
        inertial = take(3 * places);
        pack = take((size_t)s.most_pack / sizeof(float));
        tets = take(batches * SUP_PRISM_FLOATS);
        weights = take((size_t)s.most_blend);
        seats = take(((size_t)s.most_blend + 7) / 8 * 4);
        tile = take((size_t)top.rows * top.columns);
        rest = take(3 * (size_t)top.columns);
        row_rest = take(4 * (size_t)top.rows);
        range = take(2 * ((size_t)top.columns + top.rows));
    }
};

/* A block's tile. */
struct tile_view {
    const float *numbers;   /* [rows*columns] of S^-1 */
    float *rest;            /* [3*columns] what the parts leave, x, then y, then z */
    float4 *row_rest;       /* [row_count] the same at its rows */
    const int2 *range;      /* [columns+row_count] slots of those places */
    float *sums;            /* [warps] */
    int columns, first_row, row_count, first_out; /* first_out: of its words */
};

/* A block's part. */
struct part_view {
    block_view<1> b;
    const float *solve; /* [count*stride] subdomains.h */
    int stride, most_places;
    float4 *in, *left, *y, *slots;
    float *half;                      /* the same memory as the forces */
    float *columns;                   /* [most_prisms] six times their volume */
    float *direction, *base, *inertial; /* three floats a place; directions most_places apart */
    int places;                       /* of unknowns and slots */
    int wide, slices, slice, row;     /* threads a slice of the columns; the thread's slice and row of the first half */
    __device__ part_view(const sup_subdomain &part) : b(part) {}
    __device__ float *older(int j, int i) const
    {
        return direction + 3 * (j * most_places + i);
    }
};

static __device__ void copy_floats(float *to, const void *from, size_t count)
{
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < (int)count; i += T * 4)
        copy_chunk(to + i, (const float *)from + i);
}

/* Begins to copy the part, which never changes. */
static __device__ void load_alone(const sup_gpu_system &s, float *shared, const alone_sizes &size)
{
    const sup_subdomain &from = s.parts[blockIdx.x];
    const size_t prisms = ((size_t)from.prism_count + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
    const size_t blends = (size_t)from.blend_count * from.prism_stride;
    copy_floats(shared + size.pack, s.pack + (size_t)blockIdx.x * s.most_pack, s.most_pack / sizeof(float));
    copy_floats(shared + size.solve, s.solve + (size_t)blockIdx.x * LIMIT * s.solve_stride,
                (size_t)from.count * s.solve_stride);
    end_group();
    copy_floats(shared + size.tets, s.tets + (size_t)from.prism_first / SUP_PRISM_LANES * SUP_PRISM_FLOATS, prisms);
    copy_floats(shared + size.weights, s.blend_weight + from.blend_first, blends);
    copy_floats(shared + size.seats, s.blend_seat + from.blend_first, blends / 2);
}

static __device__ part_view open_alone(const sup_gpu_system &s, float *shared, const alone_sizes &size,
                                       sup_subdomain &part)
{
    const sup_subdomain *from = &s.parts[min((int)blockIdx.x, s.part_count - 1)]; /* blocks without a part: any */
    for (int i = threadIdx.x; i < (int)(sizeof part / sizeof(int)); i += T)
        ((int *)&part)[i] = ((const int *)from)[i];
    part_view v(part);
    v.solve = shared + size.solve;
    v.stride = s.solve_stride;
    v.most_places = LIMIT + s.most_slots;
    v.in = (float4 *)(shared + size.in);
    v.left = (float4 *)(shared + size.left);
    v.y = (float4 *)(shared + size.y);
    v.slots = (float4 *)(shared + size.slots);
    v.half = shared + size.force;
    v.columns = shared + size.columns;
    v.direction = shared + size.direction;
    v.base = shared + size.base;
    v.inertial = shared + size.inertial;
    v.places = from->count + from->slot_count;
    v.wide = (v.places + 31) / 32 * 32;
    v.slices = T / v.wide;
    v.slice = (int)threadIdx.x / v.wide;
    v.row = (int)threadIdx.x - v.slice * v.wide;
    v.b.first = 0;
    v.b.live = 1;
    v.b.force = shared + size.force;
    v.b.sums = shared + size.sums;
    v.b.x = shared + size.x;
    v.b.feet = shared + size.feet;
    v.b.feet_count = 1;
    v.b.feet_step = 0;
    v.b.pressure = shared + size.pressure;
    v.b.pack = (const unsigned char *)(shared + size.pack);
    v.b.tets = shared + size.tets;
    v.b.blend_weight = shared + size.weights;
    v.b.blend_seat = (const uint16_t *)(shared + size.seats);
    return v;
}

/* Begins to copy the block's tile. */
static __device__ tile_view open_tile(const sup_gpu_system &s, float *shared, const alone_sizes &size)
{
    const top_shape top(s, (int)gridDim.x);
    const int across = (int)blockIdx.x % top.across, down = (int)blockIdx.x / top.across;
    const int first_column = across * top.columns;
    float *numbers = shared + size.tile;
    int2 *range = (int2 *)(shared + size.range);
    tile_view t;
    t.numbers = numbers;
    t.rest = shared + size.rest;
    t.row_rest = (float4 *)(shared + size.row_rest);
    t.range = range;
    t.sums = shared + size.sums;
    t.columns = top.columns;
    t.first_row = min(down * top.rows, s.top_count);
    t.row_count = down < top.down ? min(top.rows, s.top_count - t.first_row) : 0;
    t.first_out = across * s.top_count + t.first_row;
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < t.row_count * top.columns; i += T * 4) {
        const int row = i / top.columns, at = first_column + i - row * top.columns;
        if (at < s.top_stride)
            copy_chunk(numbers + i, s.top_inverse + (size_t)(t.first_row + row) * s.top_stride + at);
        else
            *(float4 *)(numbers + i) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    end_group();
    for (int i = threadIdx.x; i < top.columns + t.row_count; i += T) {
        const int place = i < top.columns ? first_column + i : t.first_row + i - top.columns;
        range[i] = place < s.top_count ? make_int2(s.top_first[place], s.top_first[place + 1]) : make_int2(0, 0);
    }
    return t;
}

#endif
