import superjson from 'superjson';

/** A module of its own, without side effects: superjson does not say that it has none, so bundlers keep it wherever it is imported. */
export const transformer = superjson;
