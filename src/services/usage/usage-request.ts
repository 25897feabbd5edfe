import { isJsonObject } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { isCredentialName, withoutSecrets } from './credential-names.ts';
import { NO_CREDENTIALS, pathOf } from './usage-credentials.ts';

/** What is kept of a request's metadata: the keys that are documented, and of use to whoever reads the log. */
const KEPT = new Set([
  'HTTP_USER_AGENT',
  'SERVER_NAME',
  'HTTP_REFERER',
  'REMOTE_ADDR',
  'CONTENT_TYPE',
  'REQUEST_METHOD',
  'HTTP_HOST',
  'SERVER_PORT',
  'QUERY_STRING',
  'HTTP_ACCEPT_ENCODING',
]);
/** Of these, the values of secret parameters are left out: a platform cannot help what people click on. */
const ADDRESSES = new Set(['HTTP_REFERER', 'QUERY_STRING']);

/** More than anybody mends at once. */
const MAX_FAULTS = 20;

type Extra = Record<string, unknown>;

/** `extra` with what the log keeps of its `request`: both that and `META` must be what they are documented to be. */
export const sanitizeRequest = (extra: Extra): { extra: Extra } | { faults: FieldErrors } => {
  const { request } = extra;
  if (!isJsonObject(request)) return orFaults(noObject(request, 'extra.request'), extra);
  const { path, META: meta } = request;
  const kept = { ...request };
  if (typeof path === 'string') kept.path = withoutSecrets(path);
  if (isJsonObject(meta)) kept.META = keptMeta(meta);
  const isSame = kept.path === path && kept.META === meta;
  return orFaults(metaFaults(meta), isSame ? extra : { ...extra, request: kept });
};

const orFaults = (faults: FieldErrors, extra: Extra): { extra: Extra } | { faults: FieldErrors } =>
  Object.keys(faults).length > 0 ? { faults } : { extra };

const noObject = (value: unknown, path: string): FieldErrors =>
  value === undefined || value === null || isJsonObject(value) ? {} : { [path]: ['Must be an object.'] };

const metaFaults = (meta: unknown): FieldErrors => {
  if (!isJsonObject(meta)) return noObject(meta, 'extra.request.META');
  const faults: FieldErrors = {};
  let count = 0;
  for (const key in meta) {
    const reason = KEPT.has(key) ? reasonAgainst(meta[key]) : isCredentialName(key, true) && NO_CREDENTIALS;
    if (!reason) continue;
    faults[pathOf('extra.request.META', key)] = [reason];
    count += 1;
    if (count === MAX_FAULTS) break;
  }
  return faults;
};

const reasonAgainst = (value: unknown): string | null =>
  typeof value === 'object' && value !== null ? 'Must be a text, a number, true, false or null.' : null;

const keptMeta = (meta: Extra): Extra => {
  const kept: Extra = {};
  let isSame = true;
  for (const key in meta) {
    const value = meta[key];
    if (!KEPT.has(key)) isSame = false;
    else {
      kept[key] = ADDRESSES.has(key) && typeof value === 'string' ? withoutSecrets(value) : value;
      isSame &&= kept[key] === value;
    }
  }
  return isSame ? meta : kept;
};
