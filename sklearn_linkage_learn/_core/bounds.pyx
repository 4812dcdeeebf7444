"""Hamming loss for many labels, certified by a bound and a bijection that meet.

Invariant: `matched` <= points of the best bijection <= `bound`. A subset programme
keeps those states of a node that can be part of a bijection with `bound` points. A
state names only labels that another node outside could still take, so that few states
are left once the prices are good. If it finds no bijection, the bound falls by one.
Cost: O(nk) for a price step; the programme grows with the gap, within a budget.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from .memory cimport allocate
from .prices cimport PricedHammingLoss
from .pruning cimport MergeTree, misplaced

cdef double NEVER = -1e300
cdef int MOST_STATES = 1 << 17
cdef int N_SLOTS = 1 << 18
cdef int N_BITS = 64


cdef struct State:
    # Labels placed below a node. The rest of it is blank, and can be divided so that
    # the number of subtrees is anything from fewest to most.
    uint64_t labels    # the open ones: another node outside could take them too
    int matched
    int fewest
    int most
    int slot           # place in the hash table
    double worth       # matched points, less the prices of the open labels
    double reach       # bound of every bijection it is part of


cdef class BoundedHammingLoss(PricedHammingLoss):
    """HammingLoss for many labels; `lower` can stay below the value.

    Attributes
    ----------
    most_steps : int
        Price steps in the longest descent.
    most_pairs : int
        Pairs of states that the subset programme may combine.
    width : int
        States the subset programme keeps at a node, four times as many each time.
    most_exact : int
        Up to so many labels, what is left open is settled by the full programme.
    """

    cdef public int most_steps
    cdef public long long most_pairs
    cdef public int width
    cdef public int most_exact

    cdef int* parent
    cdef int* home                   # lowest place above all candidates of a label
    cdef int* n_candidates
    cdef int* best_place
    cdef double* best_reach
    cdef uint64_t* bits              # of a label in a state, if more than one candidate
    cdef double* bit_prices
    cdef uint64_t* closing           # labels whose home a place is
    cdef double* closed              # prices of the labels with a home at or below
    cdef double needed               # worth of a bijection that meets the target
    cdef State* states
    cdef int n_states
    cdef int* first
    cdef int* last
    cdef int* slots
    cdef long long pairs_left
    cdef bint complete

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t most = 2 * self.n_leaves, k = self.n_labels
        self.parent = <int*> allocate(most, sizeof(int))
        self.home = <int*> allocate(k, sizeof(int))
        self.n_candidates = <int*> allocate(k, sizeof(int))
        self.best_place = <int*> allocate(k, sizeof(int))
        self.best_reach = <double*> allocate(k, sizeof(double))
        self.bits = <uint64_t*> allocate(k, sizeof(uint64_t))
        self.bit_prices = <double*> allocate(N_BITS, sizeof(double))
        self.closing = <uint64_t*> allocate(most, sizeof(uint64_t))
        self.closed = <double*> allocate(most, sizeof(double))
        self.states = <State*> allocate(MOST_STATES, sizeof(State))
        self.first = <int*> allocate(most, sizeof(int))
        self.last = <int*> allocate(most, sizeof(int))
        self.slots = <int*> allocate(N_SLOTS, sizeof(int))
        memset(self.slots, 255, N_SLOTS * sizeof(int))
        self.most_steps = 200
        self.most_pairs = 1000000
        self.width = 50
        self.most_exact = 12

    def __dealloc__(self):
        free(self.parent)
        free(self.home)
        free(self.n_candidates)
        free(self.best_place)
        free(self.best_reach)
        free(self.bits)
        free(self.bit_prices)
        free(self.closing)
        free(self.closed)
        free(self.states)
        free(self.first)
        free(self.last)
        free(self.slots)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        cdef int place, left
        self.collect(tree)
        for place in range(self.n_top):
            left = self.top_left[place]
            if left >= 0:
                self.parent[left] = self.parent[left + 1] = place
        self.start()
        self.close_gap()
        if (self.bound > self.matched and self.tables != NULL
                and self.n_labels <= self.most_exact):
            self.matched = self.bound = self.best_match()
        self.lower = misplaced(self.n_leaves, self.bound)
        return misplaced(self.n_leaves, self.matched)

    cdef int close_gap(self) except -1 nogil:
        """Alternate price steps and the subset programme, with growing effort."""
        cdef int steps = 10, width = self.width, target
        self.pairs_left = self.most_pairs
        while True:
            self.descend(min(steps, self.most_steps))
            if self.bound <= self.matched:
                return 0
            self.fill_outside()
            while self.bound > self.matched and self.run_programme(self.bound, width):
                self.bound = max(self.bound - 1, self.matched)
            if self.bound <= self.matched:
                return 0
            self.assign_pieces()
            if steps >= self.most_steps:
                break
            steps *= 4
            width *= 4
        # Nothing more can be proved, but lower targets may still lead to a bijection.
        target = self.bound
        while target > self.matched and self.pairs_left >= 0:
            self.run_programme(target, self.width)
            target -= 1
        return 0

    cdef bint run_programme(self, int target, int width) except -1 nogil:
        """Look for a bijection that matches `target` points.

        At most `width` states are kept at a node. Returns whether all that could lead
        to such a bijection were: the best one is then found, or there is none.
        """
        cdef int i, place
        self.n_states = 0
        self.complete = True
        self.find_homes(target)
        self.poll.spend(<long long> self.n_top * self.n_labels)
        for place in range(self.n_top - 1, -1, -1):
            self.first[place] = self.n_states
            self.fill_states(place)
            for i in range(self.first[place], self.n_states):
                self.slots[self.states[i].slot] = -1
            self.sort_states(place, width)
            self.last[place] = self.n_states
            self.poll.spend(4 * (self.n_states - self.first[place]))
            if self.pairs_left < 0:
                return False
        for i in range(self.first[0], self.last[0]):
            if self.states[i].fewest <= self.n_labels <= self.states[i].most:
                self.matched = max(self.matched, self.states[i].matched)
        return self.complete

    cdef void find_homes(self, int target) noexcept nogil:
        """Find where each label could be taken, and below which place it is open.

        If more labels have several candidates than a state has bits, the others are
        restricted to their best one, which gives up completeness.
        """
        cdef Py_ssize_t place, c, k = self.n_labels
        cdef int n_open = 0
        cdef double least = target, reach
        self.needed = target
        for c in range(k):
            self.home[c] = -1
            self.n_candidates[c] = 0
            self.best_reach[c] = NEVER
            least -= self.prices[c]
        for place in range(self.n_top):
            self.closing[place] = 0
            self.closed[place] = 0.0
            reach = self.outside[self.offsets[place]]
            if self.weights[place] + reach >= least:
                self.find_candidates(<int> place, least - reach)
        for c in range(k):
            self.bits[c] = 0
            if self.n_candidates[c] > 1 and n_open < N_BITS:
                self.bits[c] = <uint64_t> 1 << n_open
                self.bit_prices[n_open] = self.prices[c]
                n_open += 1
            elif self.n_candidates[c] > 1:
                self.home[c] = self.best_place[c]
                self.complete = False
            # The price of a label that nobody can take is not handed back.
            if self.home[c] >= 0:
                self.needed -= self.prices[c]
                self.closing[self.home[c]] |= self.bits[c]
                self.closed[self.home[c]] += self.prices[c]

    cdef void find_candidates(self, int place, double least) noexcept nogil:
        """Note the labels that are worth as much here as a bijection needs."""
        cdef Py_ssize_t c, k = self.n_labels
        cdef double outside = self.outside[self.offsets[place]], worth
        cdef const double* gains = self.gains + place * k
        for c in range(k):
            worth = gains[c] - self.prices[c]
            if gains[c] > 0 and worth >= least:
                self.home[c] = self.meet(self.home[c], place)
                self.n_candidates[c] += 1
                if worth + outside > self.best_reach[c]:
                    self.best_reach[c] = worth + outside
                    self.best_place[c] = place

    cdef int meet(self, int one, int other) noexcept nogil:
        """Lowest place above both."""
        if one < 0:
            return other
        while one != other:
            # Places are listed breadth first, so the later one is not above the other.
            if one > other:
                one = self.parent[one]
            else:
                other = self.parent[other]
        return one

    cdef void fill_states(self, int place) noexcept nogil:
        """List the states of a place that may be part of a bijection as wanted.

        Labels that close here are neither paid for nor handed back any more: what
        stays open is all that the states of other places can depend on.
        """
        cdef int left = self.top_left[place]
        cdef double closing = self.closed[place], needed
        cdef const double* outside = self.outside + self.offsets[place]
        if left >= 0:
            self.closed[place] += self.closed[left] + self.closed[left + 1]
        needed = self.needed + self.closed[place]
        if self.weights[place] + closing + outside[0] >= needed:
            self.add_whole(place, needed)
        if left >= 0:
            self.add_pairs(place, needed, closing)

    cdef void add_whole(self, int place, double needed) noexcept nogil:
        """Add the states that leave a place undivided: blank, or with one label."""
        cdef Py_ssize_t c, k = self.n_labels
        cdef const double* gains = self.gains + place * k
        cdef double outside = self.outside[self.offsets[place]]
        cdef State state
        state.labels = 0
        state.matched = 0
        state.worth = 0.0
        state.reach = outside
        state.fewest = 1
        state.most = min(self.sizes[self.top_node[place]], self.n_labels)
        if state.reach >= needed:
            self.add_state(place, &state)
        state.most = 1
        for c in range(k):
            state.worth = gains[c] if self.home[c] == place else (
                gains[c] - self.prices[c])
            state.reach = state.worth + outside
            if self.bits[c] == 0 and self.home[c] != place:
                continue
            if gains[c] > 0 and state.reach >= needed:
                state.matched = <int> gains[c]
                state.labels = 0 if self.home[c] == place else self.bits[c]
                self.add_state(place, &state)

    cdef void add_pairs(self, int place, double needed, double closing) noexcept nogil:
        """Add the states that combine one of each child."""
        cdef int left = self.top_left[place], room = self.top_room[place], i, j
        cdef int elsewhere = <int> self.n_leaves - self.sizes[self.top_node[place]]
        cdef const double* outside = self.outside + self.offsets[place]
        cdef double least
        cdef uint64_t labels
        cdef State state
        cdef const State* one
        cdef const State* other
        for i in range(self.first[left], self.last[left]):
            one = self.states + i
            if one.fewest >= room or self.pairs_left < 0:
                continue
            least = needed - closing - outside[one.fewest] - one.worth
            for j in range(self.first[left + 1], self.last[left + 1]):
                other = self.states + j
                if other.worth < least:
                    break
                self.pairs_left -= 1
                state.fewest = one.fewest + other.fewest
                state.most = min(one.most + other.most, self.n_labels)
                state.matched = one.matched + other.matched
                if (one.labels & other.labels or state.matched == 0
                        or state.fewest > room
                        or state.most + elsewhere < self.n_labels):
                    continue
                labels = one.labels | other.labels
                state.labels = labels & ~self.closing[place]
                state.worth = one.worth + other.worth + self.price(
                    labels & self.closing[place])
                state.reach = state.worth + outside[state.fewest - 1]
                if state.reach >= needed:
                    self.add_state(place, &state)

    cdef double price(self, uint64_t labels) noexcept nogil:
        cdef double total = 0.0
        cdef int bit = 0
        while labels:
            if labels & 1:
                total += self.bit_prices[bit]
            labels >>= 1
            bit += 1
        return total

    cdef void add_state(self, int place, const State* state) noexcept nogil:
        """Keep a state unless the place has one like it that matches no less."""
        cdef uint64_t key = state.labels * 0x9E3779B97F4A7C15ULL
        cdef int slot
        cdef State* known
        key = (key ^ key >> 29) + <uint64_t> state.fewest * 1000003 + state.most
        slot = <int> (key * 0xBF58476D1CE4E5B9ULL >> 40) & (N_SLOTS - 1)
        while self.slots[slot] >= 0:
            known = self.states + self.slots[slot]
            if (known.labels == state.labels and known.fewest == state.fewest
                    and known.most == state.most):
                if state.matched > known.matched:
                    known[0] = state[0]
                    known.slot = slot
                return
            slot = (slot + 1) & (N_SLOTS - 1)
        if self.n_states == MOST_STATES:
            self.complete = False
            return
        self.slots[slot] = self.n_states
        self.states[self.n_states] = state[0]
        self.states[self.n_states].slot = slot
        self.n_states += 1

    cdef void sort_states(self, int place, int width) noexcept nogil:
        """Put the states of a place in order of worth, the furthest reaching only."""
        cdef State* states = self.states + self.first[place]
        if self.n_states - self.first[place] > width:
            qsort(states, self.n_states - self.first[place], sizeof(State), reaches)
            self.n_states = self.first[place] + width
            self.complete = False
        qsort(states, self.n_states - self.first[place], sizeof(State), is_worth)


cdef int is_worth(const void* one, const void* other) noexcept nogil:
    cdef double difference = (<const State*> other).worth - (<const State*> one).worth
    return (difference > 0) - (difference < 0)


cdef int reaches(const void* one, const void* other) noexcept nogil:
    cdef double difference = (<const State*> other).reach - (<const State*> one).reach
    return (difference > 0) - (difference < 0)
