import * as assert from 'uvu/assert';
import { can, MEMBER, type Roles } from '../../src/services/access/permissions.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const replays = appSuite('Idempotency-Key after a change of roles');

const setAdmin = (app: TestApp, email: string, id: number, isAdmin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id, email, is_admin: isAdmin });

/** Sends a request, changes the roles of the caller, repeats the request, and returns both responses. */
const around = async (
  app: TestApp,
  { line, as, payload }: { line: string; as: string; payload: object },
  change: () => Promise<unknown>,
) => {
  const headers = { 'idempotency-key': `${line} ${as}`.replaceAll(/[^a-z0-9]/gi, '-') };
  const send = () => app.send(line, { as, payload, headers });
  const first = await send();
  await change();
  return { first, repeat: await send() };
};

const refuses = ({ first, repeat }: Awaited<ReturnType<typeof around>>, status: number) => {
  assert.ok(first.statusCode < 300, first.body);
  assert.is(repeat.statusCode, status, repeat.body);
  assert.is(repeat.headers['idempotency-replayed'], undefined);
};

const bulk = (client: number) => ({
  line: 'POST /jb/users/invitations/',
  as: GRACE,
  payload: [{ email: 'one@x.test', client, extra: { secret: 1 } }],
});

replays('does not replay a bulk to an admin who has changed to another client', async ({ app }) => {
  await setAdmin(app, GRACE, 2, true);
  const swap = async () => {
    await setAdmin(app, GRACE, 1, true);
    await setAdmin(app, GRACE, 2, false);
  };
  const answers = await around(app, bulk(2), swap);

  refuses(answers, 403);
  assert.is(
    answers.repeat.json().detail,
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
  );
  await setAdmin(app, GRACE, 2, true);
  const again = await around(app, bulk(2), async () => {});
  assert.is(again.first.body, answers.first.body, 'it is returned again with the role');
  await setAdmin(app, GRACE, 2, false);
});

replays('replays to a user who has gained a role', async ({ app }) => {
  const gain = () => setAdmin(app, GRACE, 2, true);
  const { first, repeat } = await around(
    app,
    { ...bulk(1), line: 'POST /jb/users/invitations/?dry_run=false' },
    gain,
  );

  assert.is(repeat.body, first.body);
  assert.is(repeat.headers['idempotency-replayed'], 'true');
  await setAdmin(app, GRACE, 2, false);
  await setAdmin(app, GRACE, 1, false);
});

replays('does not replay the change of a user to their former client admin', async ({ app }) => {
  await setAdmin(app, ADA, 1, true);
  await setAdmin(app, ADA, 2, true);
  const change = { line: `PATCH /jb/users/${EDSGER}/`, as: ADA, payload: { first_name: 'E.' } };

  refuses(await around(app, change, () => setAdmin(app, ADA, 2, false)), 403);
  const rpc = await app.send('POST !/trpc/users.update', {
    as: ADA,
    payload: { json: { email: EDSGER, first_name: 'E.' } },
    headers: { 'idempotency-key': 'PATCH--jb-users-edsger-globex-test--ada-acme-test' },
  });
  assert.is(rpc.statusCode, 403, rpc.body);
});

replays('replays nothing to a user who has lost their only role', async ({ app }) => {
  const invite = { ...bulk(1), as: ADA };
  refuses(await around(app, invite, () => setAdmin(app, ADA, 1, false)), 403);
});

replays(
  "does not replay a superuser's response to a user who is only a client admin now",
  async ({ app }) => {
    await app.as(ROOT).roles.update({ email: ACME, is_superuser: true });
    const create = { line: 'POST /jb/users/', as: ACME, payload: { email: 'new@x.test', client: 2 } };
    const demote = () => app.as(ROOT).roles.update({ email: ACME, is_superuser: false });

    refuses(await around(app, create, demote), 403);
  },
);

replays('does not replay a staff response to a user who is no longer staff', async ({ app }) => {
  const record = { line: `POST /jb/apps/${SALES}/usage/`, as: STAFF, payload: { email: ADA, action: 'X' } };
  const demote = async () => {
    await setAdmin(app, STAFF, 1, true);
    await app.as(ROOT).roles.update({ email: STAFF, is_staff: false });
  };
  refuses(await around(app, record, demote), 403);
});

replays(
  'does not replay to a user who has lost any role that shows more than the audit trail',
  async ({ app }) => {
    const { idempotency } = app.openServices();
    const member = { ...MEMBER, id: 1, email: ACME, credential: null };
    const all: Roles[] = Object.entries(MEMBER).map(([role, none]) => ({
      ...MEMBER,
      [role]: Array.isArray(none) ? [1] : true,
    }));
    for (const [index, roles] of all.entries()) {
      if (!(['view', 'manage', 'operate', 'administer'] as const).some((action) => can(roles, action)))
        continue;
      const idempotencyKey = { key: `role-${index}`, onReplay: () => {} };
      const request = { actor: member, idempotencyKey, operation: 'test', input: '' };
      const answer = async () => 'shown to the role';
      await idempotency.runOnce({ ...request, actor: { ...member, ...roles } }, (write) => write(answer));

      await rejectsWith(
        idempotency.runOnce(request, (write) => write(answer)),
        'forbidden',
      );
    }
  },
);

replays('replays nothing to a deactivated user', async ({ app }) => {
  const create = { line: 'POST /jb/users/', as: GLOBEX, payload: { email: 'last@globex.test' } };
  refuses(await around(app, create, () => app.as(ROOT).users.deactivate({ email: GLOBEX })), 401);
});

replays.run();
