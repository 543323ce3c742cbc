/* meshopt_decode.c - bitstreams of EXT_meshopt_compression and KHR_meshopt_compression (appendix A); the filters are in
 * meshopt_filter.c. */
#include "load/meshopt_decode.h"

#include "load/meshopt_filter.h"

enum { GROUP = 16, MAX_STRIDE = 256, MAX_BLOCK = 256, TAIL_V0 = 32, TAIL_V1 = 24 };

/* Bytes that are still to be read. */
typedef struct stream {
    const unsigned char *at, *end;
} stream;

static size_t left(const stream *s)
{
    return (size_t)(s->end - s->at);
}

/* --- Mode 0: attributes --- */

/* Sixteen deltas of `bits` bits (0, 1, 2, 4 or 8). A value with all bits set stands for a byte that follows the group. */
static bool decode_group(stream *s, int32_t bits, unsigned char *deltas)
{
    if (bits == 0) {
        memset(deltas, 0, GROUP);
        return true;
    }
    size_t packed = (size_t)bits * GROUP / 8;
    if (left(s) < packed) return false;
    if (bits == 8) {
        memcpy(deltas, s->at, GROUP);
        s->at += packed;
        return true;
    }
    const unsigned char *codes = s->at;
    int32_t per_byte = 8 / bits, sentinel = (1 << bits) - 1;
    s->at += packed;
    for (int32_t i = 0; i < GROUP; i++) {
        int32_t place = i % per_byte; /* one-bit codes begin at the lowest bit, the others at the highest */
        int32_t shift = bits == 1 ? place : 8 - bits * (place + 1);
        int32_t code = codes[i / per_byte] >> shift & sentinel;
        if (code == sentinel) {
            if (left(s) == 0) return false;
            code = *s->at++;
        }
        deltas[i] = (unsigned char)code;
    }
    return true;
}

/* The deltas of one byte of all elements of a block: header bits, then the groups. */
static bool decode_deltas(stream *s, const unsigned char bits[4], size_t groups, unsigned char *deltas)
{
    const unsigned char *header = s->at;
    size_t header_size = (groups + 3) / 4;
    if (left(s) < header_size) return false;
    s->at += header_size;
    for (size_t i = 0; i < groups; i++) {
        int32_t choice = header[i / 4] >> (i % 4 * 2) & 3;
        if (!decode_group(s, bits[choice], deltas + i * GROUP)) return false;
    }
    return true;
}

/* The same in version 1, where a control mode says how, or that there are none. */
static bool decode_controlled(stream *s, int32_t control, size_t groups, size_t elements, unsigned char *deltas)
{
    static const unsigned char low[4] = {0, 1, 2, 4}, high[4] = {1, 2, 4, 8};
    if (control < 2) return decode_deltas(s, control == 0 ? low : high, groups, deltas);
    if (control == 2) {
        memset(deltas, 0, groups * GROUP);
        return true;
    }
    if (left(s) < elements) return false;
    memcpy(deltas, s->at, elements);
    s->at += elements;
    return true;
}

/* Four bytes of every element of a block from their deltas; `last` is the element before, and becomes the last one. */
static void apply_deltas(unsigned char deltas[4][MAX_BLOCK], size_t elements, size_t stride, int32_t channel,
                         unsigned char *last, unsigned char *data)
{
    int32_t rotate = channel >> 4;
    for (size_t i = 0; i < elements; i++) {
        if ((channel & 15) == 0) {
            for (int32_t k = 0; k < 4; k++) {
                int32_t d = deltas[k][i];
                last[k] = (unsigned char)(last[k] + ((d >> 1) ^ -(d & 1)));
            }
        } else if ((channel & 15) == 1) {
            for (int32_t k = 0; k < 4; k += 2) {
                int32_t d = deltas[k][i] | deltas[k + 1][i] << 8;
                int32_t value = (last[k] | last[k + 1] << 8) + ((d >> 1) ^ -(d & 1));
                last[k] = (unsigned char)value;
                last[k + 1] = (unsigned char)(value >> 8);
            }
        } else {
            uint32_t d = 0;
            for (int32_t k = 0; k < 4; k++)
                d |= (uint32_t)deltas[k][i] << (8 * k);
            d = d >> rotate | d << ((32 - rotate) & 31); /* the encoder rotated to the left */
            for (int32_t k = 0; k < 4; k++)
                last[k] = (unsigned char)(last[k] ^ (d >> (8 * k)));
        }
        memcpy(data + i * stride, last, 4);
    }
}

static bool decode_block(stream *s, bool version1, const unsigned char *channels, size_t elements, size_t stride,
                         unsigned char *last, unsigned char *data)
{
    static const unsigned char widths[4] = {0, 2, 4, 8};
    unsigned char deltas[4][MAX_BLOCK];
    size_t groups = (elements + GROUP - 1) / GROUP;
    const unsigned char *controls = s->at;
    if (version1) {
        if (left(s) < stride / 4) return false;
        s->at += stride / 4;
    }
    for (size_t k = 0; k < stride; k++) {
        bool good = version1 ? decode_controlled(s, controls[k / 4] >> (k % 4 * 2) & 3, groups, elements, deltas[k % 4])
                             : decode_deltas(s, widths, groups, deltas[k % 4]);
        if (!good) return false;
        if (k % 4 == 3)
            apply_deltas(deltas, elements, stride, version1 ? channels[k / 4] : 0, last + (k - 3), data + (k - 3));
    }
    return true;
}

static bool decode_attributes(size_t count, size_t stride, sup_bytes source, unsigned char *data)
{
    stream s = {source.data, (const unsigned char *)source.data + source.size};
    if (left(&s) < 1) return false;
    unsigned char header = *s.at++, last[MAX_STRIDE];
    if (header != 0xA0 && header != 0xA1) return false;
    bool version1 = header == 0xA1;
    size_t tail = stride + (version1 ? stride / 4 : 0), padded = version1 ? TAIL_V1 : TAIL_V0;
    if (padded < tail) padded = tail;
    if (left(&s) < padded) return false;
    const unsigned char *baseline = s.end - tail, *channels = baseline + stride;
    s.end -= padded;
    memcpy(last, baseline, stride);
    for (size_t i = 0; version1 && i < stride / 4; i++)
        if ((channels[i] & 15) > 2 || ((channels[i] & 15) < 2 && channels[i] >> 4 != 0)) return false;
    size_t block = 8192 / stride & ~(size_t)15;
    if (block > MAX_BLOCK) block = MAX_BLOCK;
    for (size_t done = 0; done < count; done += block) {
        size_t elements = count - done < block ? count - done : block;
        if (!decode_block(&s, version1, channels, elements, stride, last, data + done * stride)) return false;
    }
    return left(&s) == 0;
}

/* --- Modes 1 and 2: triangles and indices --- */

/* An unsigned LEB128 number of at most five bytes. */
static bool read_varint(stream *s, uint32_t *value)
{
    *value = 0;
    for (int32_t i = 0; i < 5; i++) {
        if (left(s) == 0) return false;
        unsigned char byte = *s->at++;
        *value |= (uint32_t)(byte & 127) << (7 * i);
        if (byte < 128) return true;
    }
    return false;
}

static uint32_t unzigzag(uint32_t value)
{
    return value >> 1 ^ (0u - (value & 1u));
}

static void store_index(unsigned char *data, size_t at, size_t stride, uint32_t index)
{
    uint16_t narrow = (uint16_t)index;
    if (stride == 4)
        memcpy(data + at * 4, &index, sizeof index);
    else
        memcpy(data + at * 2, &narrow, sizeof narrow);
}

typedef struct triangle_state {
    stream data;
    uint32_t next, last;
    uint32_t edges[16][2], vertices[16]; /* rings: entry k pushed ago is at (pushed - 1 - k) & 15 */
    size_t edges_pushed, vertices_pushed;
} triangle_state;

static void push_edge(triangle_state *t, uint32_t a, uint32_t b)
{
    t->edges[t->edges_pushed & 15][0] = a;
    t->edges[t->edges_pushed++ & 15][1] = b;
}

static void push_vertex(triangle_state *t, uint32_t vertex)
{
    t->vertices[t->vertices_pushed++ & 15] = vertex;
}

static bool recent_vertex(const triangle_state *t, uint32_t ago, uint32_t *vertex)
{
    *vertex = t->vertices[(t->vertices_pushed - 1 - ago) & 15];
    return ago < t->vertices_pushed;
}

static bool explicit_vertex(triangle_state *t, uint32_t *vertex)
{
    uint32_t delta;
    if (!read_varint(&t->data, &delta)) return false;
    *vertex = t->last += unzigzag(delta);
    return true;
}

/* Codes 0xX?: an edge of the FIFO and a third vertex. */
static bool decode_on_edge(triangle_state *t, uint32_t code, uint32_t corners[3])
{
    uint32_t ago = code >> 4, kind = code & 15;
    if (ago >= t->edges_pushed) return false;
    const uint32_t *edge = t->edges[(t->edges_pushed - 1 - ago) & 15];
    uint32_t a = edge[0], b = edge[1], c;
    bool fresh = kind == 0 || kind >= 13;
    if (kind == 0) {
        c = t->next++;
    } else if (kind < 13) {
        if (!recent_vertex(t, kind, &c)) return false;
    } else if (kind < 15) {
        c = t->last += kind == 13 ? UINT32_MAX : 1;
    } else if (!explicit_vertex(t, &c)) {
        return false;
    }
    push_edge(t, c, b);
    push_edge(t, a, c);
    if (fresh) push_vertex(t, c);
    corners[0] = a;
    corners[1] = b;
    corners[2] = c;
    return true;
}

/* Codes 0xf?: three vertices, each new, of the FIFO, or written out (nibble 15, which the table never has). */
static bool decode_free(triangle_state *t, uint32_t code, const unsigned char *table, uint32_t corners[3])
{
    uint32_t kinds = table[code & 15];
    if (code >= 0xFE) {
        if (left(&t->data) == 0) return false;
        kinds = *t->data.at++;
        if (kinds == 0) t->next = 0;
    }
    uint32_t nibbles[3] = {code == 0xFF ? 15 : 0, kinds >> 4, kinds & 15};
    for (int32_t i = 0; i < 3; i++) {
        if (nibbles[i] == 0)
            corners[i] = t->next++;
        else if (nibbles[i] < 15 ? !recent_vertex(t, nibbles[i] - 1, &corners[i]) : !explicit_vertex(t, &corners[i]))
            return false;
    }
    push_edge(t, corners[1], corners[0]);
    push_edge(t, corners[2], corners[1]);
    push_edge(t, corners[0], corners[2]);
    for (int32_t i = 0; i < 3; i++)
        if (nibbles[i] == 0 || nibbles[i] == 15) push_vertex(t, corners[i]);
    return true;
}

static bool decode_triangles(size_t count, size_t stride, sup_bytes source, unsigned char *data)
{
    const unsigned char *bytes = source.data;
    size_t triangles = count / 3;
    if (source.size < 17 || triangles > source.size - 17 || bytes[0] != 0xE1) return false;
    const unsigned char *codes = bytes + 1, *table = bytes + source.size - 16;
    for (int32_t i = 0; i < 16; i++)
        if (table[i] >> 4 == 15 || (table[i] & 15) == 15 || (i >= 14 && table[i] != 0)) return false;
    triangle_state t = {.data = {codes + triangles, table}};
    for (size_t i = 0; i < triangles; i++) {
        uint32_t corners[3];
        bool good = codes[i] < 0xF0 ? decode_on_edge(&t, codes[i], corners) : decode_free(&t, codes[i], table, corners);
        if (!good) return false;
        for (size_t k = 0; k < 3; k++)
            store_index(data, i * 3 + k, stride, corners[k]);
    }
    return left(&t.data) == 0;
}

static bool decode_indices(size_t count, size_t stride, sup_bytes source, unsigned char *data)
{
    const unsigned char *bytes = source.data;
    if (source.size < 5 || bytes[0] != 0xD1) return false;
    stream s = {bytes + 1, bytes + source.size - 4};
    uint32_t last[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        if (!read_varint(&s, &value)) return false;
        last[value & 1] += unzigzag(value >> 1);
        store_index(data, i, stride, last[value & 1]);
    }
    return left(&s) == 0;
}

bool sup_meshopt_valid(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride)
{
    if (mode != SUP_MESHOPT_ATTRIBUTES)
        return (stride == 2 || stride == 4) && filter == SUP_MESHOPT_NONE &&
               (mode != SUP_MESHOPT_TRIANGLES || count % 3 == 0);
    if (stride < 4 || stride % 4 != 0 || stride > MAX_STRIDE) return false;
    if (filter == SUP_MESHOPT_OCTAHEDRAL || filter == SUP_MESHOPT_COLOR) return stride == 4 || stride == 8;
    return filter != SUP_MESHOPT_QUATERNION || stride == 8;
}

bool sup_meshopt_decode(sup_meshopt_mode mode, sup_meshopt_filter filter, size_t count, size_t stride, sup_bytes source,
                        void *data)
{
    if (mode == SUP_MESHOPT_TRIANGLES) return decode_triangles(count, stride, source, data);
    if (mode == SUP_MESHOPT_INDICES) return decode_indices(count, stride, source, data);
    if (!decode_attributes(count, stride, source, data)) return false;
    sup_meshopt_apply_filter(filter, count, stride, data);
    return true;
}
