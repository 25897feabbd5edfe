import { DAY_MS } from '../../../src/lib/clock.ts';
import { NOUNS, SCOPES } from '../../../src/services/access/action-scopes.ts';
import { DELEGATED_ROLES } from '../../../src/services/access/permissions.ts';
import { userId } from '../../support/access-views.ts';
import { addMember } from '../../support/members.ts';
import { setRows } from '../../support/rows.ts';
import { ACME, ROOT, STAFF, type TestApp } from '../../support/test-app.ts';
import type { Actor, Role } from './columns.ts';
import type { Things } from './things.ts';

const only = (role: Role) => ({ 1: role, 2: 'none' }) as const;
const NOWHERE = { 1: 'none', 2: 'none' } as const;

/** One actor of each kind. The two clients have the ids 1 and 2; roles in a single client are in the first one. */
export const makeActors = async (app: TestApp, things: Record<1 | 2, Things>): Promise<Actor[]> => [
  { name: 'visitor', token: null, roles: NOWHERE },
  { name: 'member', token: await app.tokenOf(await addMember(app, [])), roles: only('member') },
  { name: 'owner', token: await app.tokenOf(things[1].email), roles: only('owner') },
  ...(await delegates(app)),
  { name: 'client admin', token: await app.tokenOf(ACME), roles: only('maker') },
  { name: 'staff', token: await app.tokenOf(STAFF), roles: { 1: 'staff', 2: 'staff' } },
  { name: 'superuser', token: await app.tokenOf(ROOT), roles: { 1: 'superuser', 2: 'superuser' } },
  ...(await services(app)),
  ...(await confined(app, things[1])),
  ...(await deadCredentials(app)),
];

const delegates = (app: TestApp): Promise<Actor[]> =>
  Promise.all(
    DELEGATED_ROLES.map(async ({ name }) => {
      const email = await addMember(app, []);
      await app.as(ACME).roles.setInClient({ id: 1, email, roles: [name] });
      return { name, token: await app.tokenOf(email), roles: only(name) };
    }),
  );

/** Of a client without roles, with each of its roles, and with each single scope; and of the installation. */
const services = async (app: TestApp): Promise<Actor[]> => {
  const root = app.as(ROOT).serviceAccounts;
  const make = async (name: string, client: number | null, roles: string[]) => {
    const { id } = await root.create({ name, client, roles });
    return async (limits: object) =>
      (await root.createToken({ id, name: Object.values(limits).join() || 'host', ...limits })).token;
  };
  const serviceOf = async (name: string, role: Role, client: 1 | null = 1): Promise<Actor> => {
    const makeToken = await make(name, client, role === 'none' ? [] : [role]);
    const roles = client === null ? { 1: role, 2: role } : only(role);
    return { name, token: await makeToken({}), roles, isService: true, isConfined: client !== null };
  };
  const actors = [
    await serviceOf('service without roles', 'none'),
    await serviceOf('service with client-admin', 'client-admin'),
    await serviceOf('service with auditor', 'auditor'),
    await serviceOf('service of the installation without roles', 'none', null),
    await serviceOf('service with staff', 'staff', null),
    await serviceOf('service with superuser', 'superuser', null),
  ];
  for (const noun of NOUNS) {
    const makeToken = await make(`service of ${noun}`, 1, ['client-admin']);
    for (const scope of SCOPES.filter((one) => one.startsWith(`${noun}:`)))
      actors.push({
        ...{ name: `service with ${scope}`, token: await makeToken({ scopes: [scope] }) },
        ...{ roles: only('client-admin'), isService: true, isConfined: true, scope },
      });
  }
  return actors;
};

/** Of a superuser who administers both clients: by the provider of the first, and a token for the second. */
const confined = async (app: TestApp, { provider }: Things): Promise<Actor[]> => {
  const [root, email] = [app.as(ROOT), 'both@guest.test'];
  await root.users.create({ email, client: 1 });
  for (const id of [1, 2]) await root.roles.setClientAdmin({ id, email, is_admin: true });
  await root.roles.update({ email, is_staff: true, is_superuser: true });
  const other = await app.as(email).tokens.createNamed({ name: 'Host', client: 2 });
  const connection = await root.sso.create({ id: 1, ...provider, name: 'Own' });
  await app.confine(email, connection.id);
  const token = await app.tokenOf(email);
  return [
    { name: 'confined session', token, roles: only('client-admin'), isConfined: true },
    {
      ...{ name: 'token for the other client', token: other.token, isConfined: true },
      roles: { 1: 'none', 2: 'client-admin' },
    },
  ];
};

/** Each would be that of a client admin. */
const deadCredentials = async (app: TestApp): Promise<Actor[]> => {
  const admin = await addMember(app, []);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  const make = (name: string, limits: object) => app.as(admin).tokens.createNamed({ name, ...limits });
  const expires_at = new Date(app.clock.now().getTime() + DAY_MS);
  const expired = await make('expired', { expires_at });
  await setRows(app, 'api_tokens', { id: expired.id }, { expires_at: app.clock.now() });
  const foreign = await make('foreign', { networks: ['10.0.0.0/8'] });
  const left = await addMember(app, []);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: left, is_admin: true });
  const token = await app.tokenOf(left);
  await setRows(app, 'users', { id: await userId(app, left) }, { is_active: false });
  return [
    { name: 'expired token', token: expired.token },
    { name: 'token from a foreign network', token: foreign.token },
    { name: 'token of a deactivated person', token },
  ].map((actor) => ({ ...actor, roles: only('client-admin'), isDead: true }));
};

/** The roles between which the rule holds that nobody acts on a person with more rights. */
const RANKS = ['auditor', 'help-desk', 'people-manager', 'app-manager', 'client-admin', 'staff'] as const;

/** People of the first client with the app, by role, on whom others act. */
export const makeTargets = (app: TestApp): Promise<{ role: Role; email: string }[]> =>
  Promise.all(
    RANKS.map(async (role) => {
      const email = await addMember(app);
      if (role === 'client-admin') await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });
      else if (role === 'staff') await app.as(ROOT).roles.update({ email, is_staff: true });
      else await app.as(ACME).roles.setInClient({ id: 1, email, roles: [role] });
      return { role, email };
    }),
  );
