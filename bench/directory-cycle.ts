import { type Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export const DOMAIN = 'bench.test';
const MAX_ATTEMPTS = 200;
const RETRY_MS = 200;

/** A client that has verified its domain, with the token of its directory, which applies what it states. The parameter is a digest. */
export const ADD_DIRECTORY = `
  with site as (insert into sites (domain, name) values ('bench', 'Bench') returning id),
  tenant as (insert into clients (site_id, name) select id, 'Bench' from site returning id),
  domain as (insert into client_domains (client_id, domain, token, created_at, verified_at, checked_at)
    select id, '${DOMAIN}', 'bench', now(), now(), now() from tenant),
  settings as (insert into directories (client_id, mode) select id, 'apply' from tenant),
  account as (insert into users (email, handle, profile_color, date_joined, last_password_set, is_active)
    values ('directory-1@service-account.invalid', 'directory-1', '336699', now(), now(), false) returning id),
  service as (insert into service_accounts (user_id, client_id, name, scopes, created_at)
    select account.id, tenant.id, 'Directory', '{scim}', now() from account, tenant),
  token as (insert into api_tokens (user_id, client_id, digest, name, scopes, created_at, last_used)
    select account.id, tenant.id, $1, 'bench', '{scim}', now(), now() from account, tenant)
  select id from tenant`;

type Answer = { status: number; body: string };

/** `addressOf`: may change between attempts, when the service starts again. */
type Target = { addressOf: () => string; token: string; agent: Agent };

export type Call = (method: string, path: string, body?: object) => Promise<Answer>;

/** Sends requests of a directory. One that gets no answer is sent again, as directories do. */
export const createCall = ({ addressOf, token, agent }: Target): Call => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
  const send = (method: string, path: string, body?: object) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request(`${addressOf()}${path}`, { method, headers, agent }, (response) => {
        const { statusCode: status = 0 } = response;
        text(response).then((read) => resolve({ status, body: read }), reject);
      }).on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  return async (method, path, body) => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const answer = await send(method, path, body).catch(() => null); // it was killed
      if (answer && answer.status < 500) return answer;
      await sleep(RETRY_MS);
    }
    throw new Error(`${method} ${path}: no answer`);
  };
};

const userOf = (n: number) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName: `person.${n}@${DOMAIN}`,
  externalId: `external-${n}`,
  name: { givenName: 'Person', familyName: `Number ${n}` },
  emails: [{ primary: true, type: 'work', value: `person.${n}@${DOMAIN}` }],
  active: true,
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: `Department ${n % 20}` },
});

/** Does the work for each number below the count, with this number of connections. */
const forEach = async (count: number, width: number, work: (n: number) => Promise<void>): Promise<void> => {
  let next = 0;
  const takeTurns = async (): Promise<void> => {
    while (next < count) {
      const n = next;
      next += 1;
      await work(n);
    }
  };
  await Promise.all(Array.from({ length: width }, takeTurns));
};

/** Finds a resource by its name, and creates or replaces it, as Microsoft Entra ID does. Returns its id. */
const provision = async (call: Call, path: string, filter: string, resource: object): Promise<string> => {
  const found = await call('GET', `/${path}?filter=${encodeURIComponent(filter)}&excludedAttributes=members`);
  const known = JSON.parse(found.body).Resources[0];
  const answer = known
    ? await call('PUT', `/${path}/${known.id}`, resource)
    : await call('POST', `/${path}`, resource);
  // The service was killed after it had committed the first attempt.
  if (answer.status === 409) return provision(call, path, filter, resource);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body).id;
};

export type Cycle = { people: number; groups: number; width: number };

/** Provisions all people and groups once. */
export const runCycle = async (call: Call, { people, groups, width }: Cycle): Promise<void> => {
  const ids: string[] = [];
  await forEach(people, width, async (n) => {
    const user = userOf(n);
    ids[n] = await provision(call, 'Users', `userName eq "${user.userName}"`, user);
  });
  await forEach(groups, width, async (n) => {
    const displayName = `Group ${n}`;
    const members = ids.flatMap((value, person) => (person % groups === n ? { value } : []));
    await provision(call, 'Groups', `displayName eq "${displayName}"`, { displayName, members });
  });
};

/** What a cycle leaves behind. */
export const COUNTS = `select (select count(*) from memberships)::int as memberships,
  (select count(*) from users where is_active)::int as users,
  (select count(*) from groups)::int as groups, (select count(*) from group_members)::int as "members of groups",
  (select count(*) from directory_people)::int as "people of the directory"`;
