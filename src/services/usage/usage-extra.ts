import { isJsonObject, isStorableText, stringifyJsonValue } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';

const MAX_STACK_LENGTH = 255;

/** The documented keys of `request.META`. Others are not logged. */
const META_KEYS = new Set([
  ...['HTTP_USER_AGENT', 'SERVER_NAME', 'HTTP_REFERER', 'REMOTE_ADDR', 'CONTENT_TYPE', 'REQUEST_METHOD'],
  ...['HTTP_HOST', 'SERVER_PORT', 'QUERY_STRING', 'HTTP_ACCEPT_ENCODING'],
]);
/** Their values may contain secrets: a platform cannot control which links its users follow. */
const ADDRESS_KEYS = ['HTTP_REFERER', 'QUERY_STRING'];

/** Limit per entry; bounds the size of the response. */
const MAX_FAULTS = 20;
const NOT_AN_OBJECT = 'Must be an object.';
const NO_CREDENTIALS = 'Must not be logged: it is a credential.';

type Extra = Record<string, unknown>;

/** `extra` as the log stores it: JSON text, and the stack of its totals. */
export type SanitizedExtra = { text: string; stack: string | null };

/**
 * Removes undocumented request metadata, and secrets in addresses. A key that names a credential is an error: readers of the log could act
 * as the user, and the sender must learn about it.
 */
export const sanitizeExtra = (value: unknown): { kept: SanitizedExtra } | { faults: FieldErrors } => {
  if (!isJsonObject(value)) return { faults: { extra: [NOT_AN_OBJECT] } };
  const request = value.request ?? {};
  if (!isJsonObject(request)) return { faults: { 'extra.request': [NOT_AN_OBJECT] } };
  if (!isJsonObject(request.META ?? {})) return { faults: { 'extra.request.META': [NOT_AN_OBJECT] } };
  const json = stringifyJsonValue(value);
  if ('reason' in json) return { faults: { extra: [json.reason] } };
  const found = findCredentials(value, 'extra').slice(0, MAX_FAULTS);
  if (found.length > 0) return { faults: Object.fromEntries(found.map((path) => [path, [NO_CREDENTIALS]])) };
  const text = value.request ? JSON.stringify({ ...value, request: cleanRequest(request) }) : json.text;
  return { kept: { text, stack: stackOf(value) } };
};

/** An invalid `stack` is kept in `extra`, and not counted. */
const stackOf = ({ stack }: Extra): string | null =>
  typeof stack === 'string' && stack !== '' && stack.length <= MAX_STACK_LENGTH && isStorableText(stack)
    ? stack
    : null;

const cleanRequest = (request: Extra): Extra => {
  const kept = { ...request };
  if (typeof kept.path === 'string') kept.path = withoutSecrets(kept.path);
  if (isJsonObject(kept.META)) {
    const documented = Object.entries(kept.META).filter(([key]) => META_KEYS.has(key));
    const masked = documented.map(([key, value]): [string, unknown] => [
      key,
      ADDRESS_KEYS.includes(key) && typeof value === 'string' ? withoutSecrets(value) : value,
    ]);
    kept.META = Object.fromEntries(masked);
  }
  return kept;
};

/** In lower case, without separators, and without `http` and `x` in front: `HTTP_X_CSRFTOKEN` is `csrftoken`. */
const CREDENTIALS = new Set([
  ...[
    'cookie',
    'cookies',
    'setcookie',
    'authorization',
    'proxyauthorization',
    'jwt',
    'sessionid',
    'sessionkey',
  ],
  ...['password', 'passwd', 'secret', 'secretkey', 'clientsecret', 'apikey', 'accesskey', 'privatekey'],
  ...['accesstoken', 'refreshtoken', 'idtoken', 'authtoken', 'apitoken', 'sessiontoken', 'bearertoken'],
  ...['csrftoken', 'xsrftoken', 'csrfmiddlewaretoken', 'csrfcookie'],
]);

const isCredential = (key: string): boolean =>
  CREDENTIALS.has(
    key
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '')
      .replace(/^(http)?x?/, ''),
  );

/** The paths of keys that name credentials. The caller must have bounded the depth. */
const findCredentials = (value: unknown, path: string): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const at = `${path}.${key.slice(0, MAX_KEY_LENGTH)}`;
    return isCredential(key) ? [at] : findCredentials(child, at);
  });
};

const MAX_KEY_LENGTH = 64;

/** Parameters of an address whose names end like the name of a secret: `reset_token`, `X-Amz-Signature`. */
const SECRET_PARAMETER =
  /(^|[?&;#])([^=&;?#]*(?:token|secret|password|passwd|pwd|jwt|signature|sig|key|auth|sid|sessionid|otp)\]?)=[^&#]*/gi;
/** `user:password@` before a host */
const LOGIN = /(?<=\/\/)[^/?#@]*@/g;

/** Replaces the values of secret parameters, and a login before the host, by `…`. */
export const withoutSecrets = (text: string): string =>
  text.replace(LOGIN, '…@').replace(SECRET_PARAMETER, '$1$2=…');
