const MAX_LENGTH = 2048;

/**
 * A path of this host, as a browser writes one into a request: printable ASCII, one slash at its beginning. A second
 * slash or a backslash would begin the name of another host, and browsers drop tabs and line ends before looking.
 */
const OWN_PATH = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/** The path to go on to, or null when it is no path of this host. */
export const ownPath = (text: string | undefined): string | null =>
  text !== undefined && text.length <= MAX_LENGTH && OWN_PATH.test(text) ? text : null;

/** Where the client's people go once they are logged in: a path of this host, or a web address. */
export const homeOf = (location: string): string => ownPath(location) ?? webAddress(location) ?? '/';

/** In the form that a header can carry: letters beyond ASCII are encoded. */
const webAddress = (location: string): string | null => {
  const url = URL.parse(location);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
};

/**
 * What CSP's form-action must allow for a form whose answer leads there. Chromium holds every redirect that follows
 * a form against it, also those of the other host, which nobody here can know: so the scheme, not the host.
 */
export const formTargets = (destination: string): string => {
  const scheme = URL.parse(destination)?.protocol;
  if (scheme === undefined) return "'self'";
  return scheme === 'https:' ? "'self' https:" : "'self' http: https:";
};

/** The login page that comes back here. */
export const loginPath = (next: string): string =>
  next === '/' ? '/login/' : `/login/?${new URLSearchParams({ next })}`;
