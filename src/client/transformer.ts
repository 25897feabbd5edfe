import superjson from 'superjson';

/** A separate module without side effects: superjson does not declare that it has none, so bundlers keep it wherever it is imported. */
export const transformer = superjson;
