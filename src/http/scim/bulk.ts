import { Problem } from '../../lib/problems.ts';
import { isObject } from '../../lib/scim/attributes.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import { problemOfHttpError } from '../rest/problem-document.ts';
import { MAX_BULK_OPERATIONS } from './discovery.ts';
import { errorBody } from './messages.ts';
import { type Answer, RESOURCE_PATH, type ResourceRequest } from './resources.ts';

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];
const REFERENCE = /^bulkId:(.+)$/;

type Operation = {
  method: string;
  path: string;
  bulkId: string | null;
  version: string | null;
  data: unknown;
};

type Run = (request: Omit<ResourceRequest, 'base' | 'directory'>) => Promise<Answer>;

/**
 * Carries out the operations of a bulk request one after the other, each in a transaction of its own (RFC 7644, 3.7). An operation refers to
 * a resource that an earlier one has created by `bulkId:…`.
 * @throws ScimProblem `invalidSyntax`, Problem `body-too-large`
 */
export const answerBulk = async (body: unknown, base: string, run: Run): Promise<Answer> => {
  const { Operations: sent, failOnErrors } = isObject(body) ? body : {};
  if (!Array.isArray(sent)) throw new ScimProblem('invalidSyntax', 'Operations must be a list.');
  if (sent.length > MAX_BULK_OPERATIONS)
    throw new Problem('body-too-large', { detail: `At most ${MAX_BULK_OPERATIONS} operations at once.` });
  const allowed = typeof failOnErrors === 'number' && failOnErrors > 0 ? failOnErrors : Infinity;
  const ids = new Map<string, string>();
  const results: object[] = [];
  let failures = 0;
  for (const element of sent) {
    const result = await carryOut(element, base, ids, run);
    results.push(result);
    if (Number(result.status) >= 400) failures += 1;
    // After a fault, the others would fail too; the response lists what was done.
    if (failures >= allowed || Number(result.status) >= 500) break;
  }
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:BulkResponse'];
  return { status: 200, body: { schemas, Operations: results } };
};

const carryOut = async (element: unknown, base: string, ids: Map<string, string>, run: Run) => {
  const named = isObject(element) ? element : {};
  const known = {
    method: String(named.method ?? ''),
    ...(typeof named.bulkId === 'string' && { bulkId: named.bulkId }),
  };
  try {
    const { method, path, bulkId, version, data } = readOperation(element, ids);
    const answer = await run({
      ...{ method, path, body: data, query: {} },
      ...{ ifMatch: version, ifNoneMatch: null },
    });
    const location = answer.headers?.location ?? `${base}${path}`;
    if (bulkId !== null && method === 'POST') ids.set(bulkId, location.slice(location.lastIndexOf('/') + 1));
    const etag = answer.headers?.etag;
    return { ...known, ...(etag && { version: etag }), location, status: String(answer.status) };
  } catch (error) {
    const problem = problemOfHttpError(error);
    return { ...known, status: String(problem.status), response: errorBody(problem, error) };
  }
};

/** @throws ScimProblem `invalidSyntax`, `invalidValue` */
const readOperation = (element: unknown, ids: ReadonlyMap<string, string>): Operation => {
  const { method, path, bulkId, version, data } = isObject(element) ? element : {};
  const name = String(method).toUpperCase();
  if (!METHODS.includes(name))
    throw new ScimProblem('invalidSyntax', `method must be one of ${METHODS.join(', ')}.`);
  if (typeof path !== 'string') throw new ScimProblem('invalidSyntax', 'path must be text.');
  if (name === 'POST' && typeof bulkId !== 'string')
    throw new ScimProblem('invalidSyntax', 'POST needs a bulkId.');
  const resolved = path
    .split('/')
    .map((part) => resolve(part, ids))
    .join('/');
  if (!RESOURCE_PATH.test(resolved)) throw new ScimProblem('invalidSyntax', `There is no path ${path}.`);
  return {
    method: name,
    path: resolved,
    bulkId: typeof bulkId === 'string' ? bulkId : null,
    version: typeof version === 'string' ? version : null,
    data: resolveAll(data, ids),
  };
};

const resolve = (text: string, ids: ReadonlyMap<string, string>): string => {
  const [, bulkId] = REFERENCE.exec(text) ?? [];
  if (bulkId === undefined) return text;
  const id = ids.get(bulkId);
  if (id === undefined)
    throw new ScimProblem('invalidValue', `No earlier operation has created ${bulkId.slice(0, 100)}.`);
  return id;
};

const MAX_DEPTH = 20;

const resolveAll = (value: unknown, ids: ReadonlyMap<string, string>, depth = 0): unknown => {
  if (typeof value === 'string') return resolve(value, ids);
  if (depth > MAX_DEPTH) throw new ScimProblem('invalidSyntax', 'data is nested too deeply.');
  if (Array.isArray(value)) return value.map((each) => resolveAll(each, ids, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, resolveAll(inner, ids, depth + 1)]),
  );
};
