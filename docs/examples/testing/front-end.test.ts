// Tests front-end code against the real router and a real database. The client's requests are passed to the service
// in-process, so nothing listens on a port.
import * as assert from 'uvu/assert';
import { createStewardClient, fieldErrors, type StewardClient } from '../../../src/client.ts';
import { ACME, ADA, appSuite, createInjectFetch, DEMO_PASSWORD } from '../../../tests/support/test-app.ts';
import { fakeSteward, Refusal } from './fake-steward.ts';

const frontEnd = appSuite('example: front-end code on the real router');

/** The code under test: it takes the client as a parameter. */
const invite = async ({ api }: StewardClient, email: string): Promise<string> => {
  try {
    const user = await api.users.create.mutate({ email, send_email: false });
    return `Added ${user.email}`;
  } catch (error) {
    return fieldErrors(error).email?.join(' ') ?? 'Something went wrong.';
  }
};

frontEnd('adds a user, and shows the message of a taken address', async ({ app }) => {
  const steward = createStewardClient({ url: 'http://localhost:8000', fetch: createInjectFetch(app.server) });
  await steward.login({ email: ACME, password: DEMO_PASSWORD });

  assert.is(await invite(steward, 'new@acme.test'), 'Added new@acme.test');
  assert.is(await invite(steward, ADA), 'A user with this email address already exists.');
});

frontEnd('shows the error of a field, without a service', async () => {
  const fetch = fakeSteward({
    users: {
      create: ({ email }) => {
        throw new Refusal('invalid-input', 'Some of the input is invalid.', {
          email: [`No address: ${email}`],
        });
      },
    },
  });
  const steward = createStewardClient({ url: 'http://steward.test', fetch });

  assert.is(await invite(steward, 'nobody'), 'No address: nobody');
});

frontEnd('answers the calls of a batch without a service', async () => {
  const fetch = fakeSteward({
    sites: { list: () => [{ id: 1, domain: 'localhost:8000', name: 'Local' }] },
    sessions: { current: () => null },
  });
  const { api } = createStewardClient({ url: 'http://steward.test', fetch });
  const [[site], session] = await Promise.all([api.sites.list.query(), api.sessions.current.query()]);

  assert.equal([site?.name, session], ['Local', null]);
});

frontEnd.run();
