import type { InjectOptions } from 'fastify';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyDomain } from './sso.ts';
import { ROOT, type TestApp } from './test-app.ts';

export { verifyDomain };

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const LIST_RESPONSE = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json | undefined };
export type Body = { [name: string]: Json | undefined };
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Mode = 'show' | 'apply';

type Options = {
  /** By default a new client, of which the directory is the only content. */
  client?: number;
  mode?: Mode;
  /** Whether the client has verified the domain of the directory. */
  verified?: boolean;
};

let connected = 0;

const addClient = async (app: TestApp, name: string): Promise<number> => {
  const site = await app.as(ROOT).sites.create({ domain: `${name}.localhost:8000`, name });
  return (await app.as(ROOT).clients.create({ name, site: site.id })).id;
};

export const setMode = async (app: TestApp, client: number, mode: Mode): Promise<void> => {
  await app.as(ROOT).directory.update({ id: client, mode });
};

/** A token of a new service account of the client, with the scope of directories. */
export const createDirectoryToken = async (app: TestApp, client: number): Promise<string> => {
  const root = app.as(ROOT);
  const { id } = await root.serviceAccounts.create({ name: 'Directory', client, scopes: ['scim'] });
  return (await root.serviceAccounts.createToken({ id, name: 'Directory' })).token;
};

/** Connects a directory to a client, and returns how the directory calls the service. */
export const connectDirectory = async (
  app: TestApp,
  { client, mode = 'apply', verified = true }: Options = {},
) => {
  connected += 1;
  const name = `directory-${connected}`;
  const domain = `${name}.test`;
  const clientId = client ?? (await addClient(app, name));
  if (verified) await verifyDomain(app, clientId, domain);
  const token = await createDirectoryToken(app, clientId);
  await setMode(app, clientId, mode);

  /** Fails if the answer is no SCIM message. A text is sent as it is; headers replace those of a directory. */
  const request = async (
    method: Method,
    path: string,
    body?: Body | string,
    headers: Record<string, string> = {},
  ) => {
    const options: InjectOptions = {
      method,
      url: `/scim/v2/${clientId}${path}`,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/scim+json',
        ...(body !== undefined && { 'content-type': 'application/scim+json; charset=utf-8' }),
        ...headers,
      },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    };
    const response = await app.server.inject(options);
    const isEmpty = response.body === '';
    if (!isEmpty)
      assert.match(String(response.headers['content-type']), 'application/scim+json', `${method} ${path}`);
    return {
      status: response.statusCode,
      headers: response.headers,
      body: isEmpty ? undefined : response.json(),
    };
  };

  const created = async (path: string, resource: Body) => {
    const { status, body } = await request('POST', path, resource);
    assert.is(status, 201, JSON.stringify(body));
    return body;
  };

  return {
    client: clientId,
    /** Of the people of this directory. */
    domain,
    token,
    request,
    address: (name: string): string => `${name}@${domain}`,
    read: async (path: string) => {
      const { status, body } = await request('GET', path);
      assert.is(status, 200, JSON.stringify(body));
      return body;
    },
    /** The list for these parameters. */
    list: async (path: string, params: Record<string, string> = {}) => {
      const { status, body } = await request('GET', `${path}?${new URLSearchParams(params)}`);
      assert.is(status, 200, JSON.stringify(body));
      assert.equal(body.schemas, [LIST_RESPONSE]);
      return body;
    },
    createUser: (user: Body) => created('/Users', { schemas: [USER], ...user }),
    createGroup: (group: Body) => created('/Groups', { schemas: [GROUP], ...group }),
    patch: (path: string, ...operations: Body[]) =>
      request('PATCH', path, { schemas: [PATCH_OP], Operations: operations }),
  };
};

export type Directory = Awaited<ReturnType<typeof connectDirectory>>;
type Answer = Awaited<ReturnType<Directory['request']>>;

const SETTINGS = [
  { setting: 'in mode show', mode: 'show', verified: true },
  { setting: 'in mode apply', mode: 'apply', verified: true },
  { setting: 'in mode apply, of people who are invited', mode: 'apply', verified: false },
] as const;

/**
 * Adds a test for each way in which the service handles a directory, which must not notice a difference. Each starts with a directory that
 * is still empty.
 */
export const inEachSettingOf =
  <T extends { app: TestApp }>(suite: Test<T>) =>
  (name: string, run: (directory: Directory) => Promise<void>): void => {
    for (const { setting, ...options } of SETTINGS)
      suite(`${name} (${setting})`, async ({ app }) => run(await connectDirectory(app, options)));
  };

/** Asserts that a change was made: the answer is the resource or nothing. */
export const assertChanged = ({ status, body }: Answer): void => {
  assert.ok(status === 200 || status === 204, `${status} ${JSON.stringify(body)}`);
  assert.is(body === undefined, status === 204);
};

/** Asserts an error message of SCIM, whose status is a text. */
export const assertRefused = ({ status, body }: Answer, expected: number, scimType?: string): void => {
  assert.is(status, expected, JSON.stringify(body));
  assert.equal(body.schemas, [ERROR]);
  assert.is(body.status, String(expected));
  assert.type(body.detail, 'string');
  assert.not.equal(body.detail, '');
  if (scimType !== undefined) assert.is(body.scimType, scimType);
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The parts of `expected` that `actual` does not have, by path. `actual` may have more; the elements of a list may come in another
 * order.
 */
export const missingFrom = (actual: unknown, expected: unknown, path = ''): string[] => {
  if (Array.isArray(expected))
    return expected
      .filter((part) => ![actual].flat().some((element) => missingFrom(element, part).length === 0))
      .map((part) => `${path}: ${JSON.stringify(part)} in ${JSON.stringify(actual)}`);
  if (isObject(expected))
    return Object.entries(expected)
      .filter(([, value]) => value !== undefined)
      .flatMap(([name, value]) =>
        missingFrom(isObject(actual) ? actual[name] : undefined, value, path ? `${path}.${name}` : name),
      );
  return actual === expected ? [] : [`${path}: ${JSON.stringify(expected)}, not ${JSON.stringify(actual)}`];
};

/** Asserts that a resource has at least these values. */
export const assertHas = (resource: unknown, expected: Body): void =>
  assert.equal(missingFrom(resource, expected), []);

/** Ids of the members of a group, sorted. */
export const memberIds = (group: { members?: { value: string }[] }): string[] =>
  (group.members ?? []).map(({ value }) => value).sort();
