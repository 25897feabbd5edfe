const PREFIX = '/trpc/';

export const isTrpcPath = (url: string): boolean => url.startsWith(PREFIX);

/** The procedures that a request calls: `/trpc/users.get,sites.list?…`. Read as tRPC reads it. */
export const proceduresInPath = (url: string): string[] =>
  decodeURIComponent(url.replace(/\?.*$/s, '').slice(PREFIX.length)).split(',');
