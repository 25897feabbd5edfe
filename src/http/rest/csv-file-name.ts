const MAX_NAME_LENGTH = 100;

/** The path says what the file holds: `/api/v1/jb/clients/:id/users/` of client 1 is `clients-1-users.csv`. */
export const csvFileName = (url: string, params: Record<string, string>): string => {
  const segments = url.split('/').filter((segment) => segment !== '' && !COMMON_SEGMENTS.has(segment));
  const named = segments.map((segment) =>
    segment.startsWith(':') ? (params[segment.slice(1)] ?? '') : segment,
  );
  // Whatever else a parameter holds has no place in a header, nor in the name of a file.
  const name = named.join('-').replaceAll(/[^\w.-]/g, '_');
  return `${name.slice(0, MAX_NAME_LENGTH)}.csv`;
};

/** Segments that all paths begin with. */
const COMMON_SEGMENTS = new Set(['api', 'v1', 'jb', 'hashr']);
