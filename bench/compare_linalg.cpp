/* compare_linalg - src/linalg against Eigen and, where it is found, CHOLMOD, on the matrices that binding a character
 * factorises: compare_linalg [SCENE [METHOD]]. One thread, best of several interleaved runs. Times in ms. The last
 * column is the solve of the step: three coordinates in float. Built only where Eigen is found; see
 * docs/dependencies.md. */
extern "C" {
#include "linalg/cholesky.h"
#include "linalg/float_factor.h"
#include "supple/supple.h"
}
#include <Eigen/Sparse>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#ifdef HAVE_CHOLMOD
#include <suitesparse/cholmod.h>
#endif

struct system_matrix {
    int32_t size;
    std::vector<int32_t> first, column;
    std::vector<double> value;
};
static std::vector<system_matrix> seen;

/* The linker sends every call of sup_cholesky_create here (-Wl,--wrap). */
extern "C" sup_result __real_sup_cholesky_create(const sup_context *, const sup_csr *, sup_cholesky **, sup_error *);
extern "C" sup_result __wrap_sup_cholesky_create(const sup_context *context, const sup_csr *m, sup_cholesky **cholesky,
                                                 sup_error *error)
{
    int32_t entries = m->first[m->size];
    seen.push_back({m->size,
                    {m->first, m->first + m->size + 1},
                    {m->column, m->column + entries},
                    {m->value, m->value + entries}});
    return __real_sup_cholesky_create(context, m, cholesky, error);
}

static void must(bool good, const char *what)
{
    if (good) return;
    std::fprintf(stderr, "compare_linalg: %s\n", what);
    std::exit(1);
}

/* Calls `work` and keeps its shortest time: CPU time of this thread, as other programs may run. */
template <class F> static void timed(double *best, F work)
{
    timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    work();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    *best = std::min(*best, double(b.tv_sec - a.tv_sec) * 1e3 + double(b.tv_nsec - a.tv_nsec) * 1e-6);
}

struct times {
    double analyse = 1e30, factor = 1e30, solve_double = 1e30, solve_step = 1e30;
};

static void print(const char *name, const times &t, const times &ours)
{
    std::printf("  %-22s %9.3f %5.2f  %9.3f %5.2f  %9.3f %5.2f", name, t.analyse, t.analyse / ours.analyse, t.factor,
                t.factor / ours.factor, t.solve_double, t.solve_double / ours.solve_double);
    if (t.solve_step < 1e30) std::printf("  %9.4f %5.2f", t.solve_step, t.solve_step / ours.solve_step);
    std::printf("\n");
}

struct supple_side {
    sup_csr matrix;
    sup_cholesky *cholesky = nullptr;
    std::vector<int32_t> ints;
    float *floats = nullptr, *b4, *x4, *work4;
    std::vector<double> b, x, work;
    sup_float_factor factor;

    void make(system_matrix &m)
    {
        sup_error error = {};
        matrix = {};
        matrix.size = m.size;
        matrix.first = m.first.data();
        matrix.column = m.column.data();
        matrix.value = m.value.data();
        must(sup_cholesky_create(nullptr, &matrix, &cholesky, &error) == SUP_OK, error.message);
        seen.pop_back(); /* this call was recorded too */
        int64_t int_count, float_count;
        sup_float_factor_sizes(cholesky, &int_count, &float_count);
        ints.resize(size_t(int_count));
        floats = static_cast<float *>(std::aligned_alloc(64, (size_t(float_count) * 4 + 63) / 64 * 64));
        must(sup_float_factor_write(cholesky, ints.data(), floats, &error) == SUP_OK, error.message);
        factor = sup_float_factor_view(ints.data(), floats);
        size_t n = size_t(m.size), bytes = (n * 16 + 63) / 64 * 64;
        b4 = static_cast<float *>(std::aligned_alloc(64, bytes));
        x4 = static_cast<float *>(std::aligned_alloc(64, bytes));
        work4 = static_cast<float *>(std::aligned_alloc(64, bytes));
        for (size_t i = 0; i < n * 4; i++)
            b4[i] = float(i % 17) - 8.0f;
        b.assign(n, 1.0), x.resize(n), work.resize(size_t(sup_cholesky_workspace(cholesky, 1)));
    }
    void run(times *t)
    {
        sup_error error = {};
        sup_cholesky_destroy(cholesky);
        cholesky = nullptr;
        timed(&t->analyse, [&] { sup_cholesky_analyse(nullptr, &matrix, nullptr, &cholesky, &error); });
        timed(&t->factor, [&] { sup_cholesky_factorise(cholesky, &matrix, &error); });
        timed(&t->solve_double, [&] { sup_cholesky_solve(cholesky, 1, b.data(), x.data(), work.data()); });
        timed(&t->solve_step, [&] { sup_float_solve4(&factor, b4, x4, work4); });
    }
    ~supple_side()
    {
        sup_cholesky_destroy(cholesky);
        std::free(floats), std::free(b4), std::free(x4), std::free(work4);
    }
};

struct eigen_side {
    Eigen::SparseMatrix<double> a;
    Eigen::SparseMatrix<float> af;
    Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> llt;
    Eigen::SimplicialLLT<Eigen::SparseMatrix<float>> lltf;
    Eigen::VectorXd b, x;
    Eigen::Matrix<float, Eigen::Dynamic, 3> b3, x3;

    void make(const system_matrix &m)
    {
        std::vector<Eigen::Triplet<double>>
            t; /* sup_csr holds the lower triangle, and so does SimplicialLLT's default */
        for (int32_t i = 0; i < m.size; i++)
            for (int32_t k = m.first[size_t(i)]; k < m.first[size_t(i) + 1]; k++)
                t.emplace_back(std::max(i, m.column[size_t(k)]), std::min(i, m.column[size_t(k)]), m.value[size_t(k)]);
        a.resize(m.size, m.size);
        a.setFromTriplets(t.begin(), t.end());
        af = a.cast<float>();
        b = Eigen::VectorXd::Ones(m.size);
        b3.setOnes(m.size, 3);
        lltf.compute(af);
        must(lltf.info() == Eigen::Success, "Eigen's factorisation in float failed.");
    }
    void run(times *t)
    {
        timed(&t->analyse, [&] { llt.analyzePattern(a); });
        timed(&t->factor, [&] { llt.factorize(a); });
        timed(&t->solve_double, [&] { x = llt.solve(b); });
        timed(&t->solve_step, [&] { x3 = lltf.solve(b3); });
    }
};

#ifdef HAVE_CHOLMOD
struct cholmod_side {
    cholmod_common common;
    cholmod_sparse *a = nullptr;
    cholmod_factor *factor = nullptr;
    cholmod_dense *b = nullptr;

    void make(const Eigen::SparseMatrix<double> &e, int kind)
    {
        cholmod_start(&common);
        common.supernodal = kind;
        common.nmethods = 1; /* AMD alone, as the other two do */
        common.method[0].ordering = CHOLMOD_AMD;
        common.postorder = 1;
        size_t n = size_t(e.rows()), entries = size_t(e.nonZeros());
        a = cholmod_allocate_sparse(n, n, entries, 1, 1, -1, CHOLMOD_REAL, &common);
        std::copy(e.outerIndexPtr(), e.outerIndexPtr() + n + 1, static_cast<int *>(a->p));
        std::copy(e.innerIndexPtr(), e.innerIndexPtr() + entries, static_cast<int *>(a->i));
        std::copy(e.valuePtr(), e.valuePtr() + entries, static_cast<double *>(a->x));
        b = cholmod_ones(n, 1, CHOLMOD_REAL, &common);
    }
    void run(times *t)
    {
        cholmod_free_factor(&factor, &common);
        timed(&t->analyse, [&] { factor = cholmod_analyze(a, &common); });
        timed(&t->factor, [&] { cholmod_factorize(a, factor, &common); });
        cholmod_dense *x = nullptr;
        timed(&t->solve_double, [&] { x = cholmod_solve(CHOLMOD_A, factor, b, &common); });
        cholmod_free_dense(&x, &common);
    }
    ~cholmod_side()
    {
        cholmod_free_factor(&factor, &common);
        cholmod_free_sparse(&a, &common);
        cholmod_free_dense(&b, &common);
        cholmod_finish(&common);
    }
};
#endif

static void compare(system_matrix m)
{
    times ours, eigen;
    supple_side s;
    eigen_side e;
    s.make(m);
    e.make(m);
#ifdef HAVE_CHOLMOD
    times simplicial, supernodal;
    cholmod_side c, d;
    c.make(e.a, CHOLMOD_SIMPLICIAL);
    d.make(e.a, CHOLMOD_SUPERNODAL);
#endif
    for (int repeat = 0; repeat < 40; repeat++) {
        s.run(&ours);
        e.run(&eigen);
#ifdef HAVE_CHOLMOD
        c.run(&simplicial);
        d.run(&supernodal);
#endif
    }
    double length = 0, difference = 0;
    for (int32_t i = 0; i < m.size; i++) {
        difference += (s.x[size_t(i)] - e.x[i]) * (s.x[size_t(i)] - e.x[i]);
        length += e.x[i] * e.x[i];
    }
    std::printf("%d unknowns, %zu entries; the solutions differ by %.1e\n", int(m.size), m.column.size(),
                std::sqrt(difference / length));
    print("Supple", ours, ours);
    print("Eigen SimplicialLLT", eigen, ours);
#ifdef HAVE_CHOLMOD
    print("CHOLMOD simplicial", simplicial, ours);
    print("CHOLMOD supernodal", supernodal, ours);
#endif
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "human", *method = argc > 2 ? argv[2] : "projective";
    sup_error error = {};
    sup_character *character = nullptr;
    sup_rig *rig = nullptr;
    sup_model *model = nullptr;
    must(sup_scene_create(nullptr, scene, 1.0, &character, &error) == SUP_OK, error.message);
    must(sup_rig_create(nullptr, character, nullptr, &rig, &error) == SUP_OK, error.message);
    must(sup_bind(nullptr, sup_method_find(method), rig, nullptr, &model, &error) == SUP_OK, error.message);
    std::printf("%-24s %9s %5s  %9s %5s  %9s %5s  %9s %5s\n", "ms, and ratio to Supple", "analyse", "", "factor", "",
                "1 rhs", "", "step", "");
    std::vector<system_matrix> systems = seen;
    for (system_matrix &m : systems)
        if (m.size >= 500) compare(m);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}
