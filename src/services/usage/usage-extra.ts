import { isJsonObject, isStorableText, stringifyJsonValue } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { isCredentialName, withoutSecrets } from './credential-names.ts';
import { credentialFaults, MAX_FAULTS, NO_CREDENTIALS, pathOf } from './usage-credentials.ts';

const MAX_STACK_LENGTH = 255;

/** The documented keys of `request.META`. Others are not logged. */
const META_KEYS = new Set(
  `HTTP_USER_AGENT SERVER_NAME HTTP_REFERER REMOTE_ADDR CONTENT_TYPE REQUEST_METHOD HTTP_HOST SERVER_PORT
  QUERY_STRING HTTP_ACCEPT_ENCODING`.split(/\s+/),
);
/** In these, the values of secret parameters are masked: a platform cannot control which links users follow. */
const ADDRESS_KEYS = new Set(['HTTP_REFERER', 'QUERY_STRING']);

const NOT_A_SCALAR = 'Must be a text, a number, true, false or null.';

type Extra = Record<string, unknown>;

/** `extra` as the log stores it: JSON text, and the stack of its totals. */
export type SanitizedExtra = { text: string; stack: string | null };

/**
 * Removes undocumented request metadata and secrets in addresses from the `extra` of an entry. Any other credential, which
 * readers of the log could use to act as the user, is an error, so that the sender learns about it.
 */
export const sanitizeExtra = (value: unknown): { kept: SanitizedExtra } | { faults: FieldErrors } => {
  if (!isJsonObject(value)) return { faults: { extra: ['Must be an object.'] } };
  const requestFaults = findRequestFaults(value.request);
  if (Object.keys(requestFaults).length > 0) return { faults: requestFaults };
  const extra = withCleanRequest(value);
  const json = stringifyJsonValue(extra);
  if ('reason' in json) return { faults: { extra: [json.reason] } };
  const faults = credentialFaults(extra);
  return faults ? { faults } : { kept: { text: json.text, stack: stackOf(value) } };
};

/** An invalid `stack` is kept in `extra`, and not counted. */
const stackOf = ({ stack }: Extra): string | null =>
  typeof stack === 'string' && stack !== '' && stack.length <= MAX_STACK_LENGTH && isStorableText(stack)
    ? stack
    : null;

const findRequestFaults = (request: unknown): FieldErrors => {
  if (!isJsonObject(request)) return requireObject(request, 'extra.request');
  const { META: meta } = request;
  if (!isJsonObject(meta)) return requireObject(meta, 'extra.request.META');
  const faults: [string, string[]][] = [];
  const add = (key: string, reason: string) => faults.push([pathOf('extra.request.META', key), [reason]]);
  for (const key in meta) {
    const value = meta[key];
    const isDocumented = META_KEYS.has(key);
    if (!isDocumented && isCredentialName(key, true)) add(key, NO_CREDENTIALS);
    if (isDocumented && typeof value === 'object' && value !== null) add(key, NOT_A_SCALAR);
    if (faults.length === MAX_FAULTS) break;
  }
  return Object.fromEntries(faults);
};

const requireObject = (value: unknown, path: string): FieldErrors =>
  value === undefined || value === null ? {} : { [path]: ['Must be an object.'] };

/** The same object if nothing changes. */
const withCleanRequest = (extra: Extra): Extra => {
  const { request } = extra;
  if (!isJsonObject(request)) return extra;
  const { path, META: meta } = request;
  const kept = { ...request };
  if (typeof path === 'string') kept.path = withoutSecrets(path);
  if (isJsonObject(meta)) kept.META = withoutUnknownKeys(meta);
  const isSame = kept.path === path && kept.META === meta;
  return isSame ? extra : { ...extra, request: kept };
};

const withoutUnknownKeys = (meta: Extra): Extra => {
  const kept: Extra = {};
  let isSame = true;
  for (const key in meta) {
    const value = meta[key];
    if (!META_KEYS.has(key)) isSame = false;
    else {
      kept[key] = ADDRESS_KEYS.has(key) && typeof value === 'string' ? withoutSecrets(value) : value;
      isSame &&= kept[key] === value;
    }
  }
  return isSame ? meta : kept;
};
