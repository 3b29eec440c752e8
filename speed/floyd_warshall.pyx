# cython: language_level=3
"""Shortest paths as Graphormer's authors compute them: Floyd-Warshall, then one recursion a pair.

Written after ``graphormer/data/algos.pyx`` of github.com/microsoft/Graphormer (main branch), with
the same types, loops and lists, so that it takes the same time.
"""

import numpy
cimport numpy
from libc.stdint cimport int64_t

UNREACHABLE = 510


def floyd_warshall(adjacency):
    """Distances ``[n, n]``, and a node on the path from i to j, or -1 if the path is an edge."""
    cdef Py_ssize_t n = adjacency.shape[0]
    cdef numpy.ndarray[int64_t, ndim=2, mode="c"] distance = adjacency.astype(numpy.int64)
    cdef numpy.ndarray[int64_t, ndim=2, mode="c"] middle = numpy.full((n, n), -1, dtype=numpy.int64)
    cdef Py_ssize_t i, j, k
    cdef int64_t to_k, through_k
    cdef int64_t* first = &distance[0, 0]
    cdef int64_t* from_i
    cdef int64_t* from_k
    for i in range(n):
        for j in range(n):
            if i == j:
                distance[i, j] = 0
            elif distance[i, j] == 0:
                distance[i, j] = 510
    for k in range(n):
        from_k = first + n * k
        for i in range(n):
            from_i = first + n * i
            to_k = from_i[k]
            for j in range(n):
                through_k = to_k + from_k[j]
                if from_i[j] > through_k:
                    from_i[j] = through_k
                    middle[i, j] = k
    for i in range(n):
        for j in range(n):
            if distance[i, j] >= 510:
                distance[i, j] = 510
                middle[i, j] = 510
    return distance, middle


def nodes_between(middle, i, j):
    cdef int k = middle[i][j]
    if k == -1:
        return []
    return nodes_between(middle, i, k) + [k] + nodes_between(middle, k, j)


def path_edges(max_length, middle, edge_attr):
    """The features of the edges on each path, ``[n, n, max_length, F]``, and -1 beyond its end."""
    cdef Py_ssize_t n = middle.shape[0]
    cdef numpy.ndarray[int64_t, ndim=2, mode="c"] between = middle.astype(numpy.int64)
    cdef numpy.ndarray[int64_t, ndim=3, mode="c"] features = edge_attr.astype(numpy.int64)
    shape = (n, n, max_length, edge_attr.shape[-1])
    cdef numpy.ndarray[int64_t, ndim=4, mode="c"] edges = numpy.full(shape, -1, dtype=numpy.int64)
    cdef Py_ssize_t i, j, k, length
    for i in range(n):
        for j in range(n):
            if i == j or between[i, j] == 510:
                continue
            path = [i] + nodes_between(between, i, j) + [j]
            length = len(path) - 1
            for k in range(length):
                edges[i, j, k, :] = features[path[k], path[k + 1], :]
    return edges
