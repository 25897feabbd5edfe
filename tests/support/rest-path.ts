/** The path as `TestApp.send` takes it: without `/api/v1`, or after a `!` if it is elsewhere. */
export const restPath = (url: string): string =>
  url.startsWith('/api/v1/') ? url.slice('/api/v1'.length) : `!${url}`;
