const MAX_PATH_LENGTH = 2048;

/**
 * A path on this host as browsers send it: printable ASCII after a single slash. A second slash or a backslash would start
 * the name of another host, and browsers drop tabs and line breaks before they parse a URL.
 */
const LOCAL_PATH = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/** Returns the path if it leads to this host, otherwise null. Prevents open redirects. */
export const localPath = (path: string | undefined): string | null =>
  path !== undefined && path.length <= MAX_PATH_LENGTH && LOCAL_PATH.test(path) ? path : null;

/** Where users of a client go after the login: its `home_location` if that is a local path or a web URL, otherwise `/`. */
export const homeUrl = (location: string): string => localPath(location) ?? webUrl(location) ?? '/';

/** The URL with everything beyond ASCII encoded, as a header requires. */
const webUrl = (location: string): string | null => {
  const url = URL.parse(location);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
};

/**
 * The `form-action` sources for a form that redirects to `destination`. Chromium checks every redirect after a form
 * against this directive, including redirects by the other host, so the directive allows its scheme rather than the host.
 */
export const formActionSources = (destination: string): string => {
  if (LAUNCH_PATH.test(destination)) return "'self' http: https:";
  const scheme = URL.parse(destination)?.protocol;
  if (scheme === undefined) return "'self'";
  return scheme === 'https:' ? "'self' https:" : "'self' http: https:";
};

/** Redirects to an app. */
const LAUNCH_PATH = /^\/launch\//;

/** The login page that continues to `next`. */
export const loginPath = (next: string): string =>
  next === '/' ? '/login/' : `/login/?${new URLSearchParams({ next })}`;
