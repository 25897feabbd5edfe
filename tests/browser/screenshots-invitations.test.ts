import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, fillLogin, waitForHeading } from '../support/browser.ts';
import { inviteByLink } from '../support/mails.ts';
import { type Steps, testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GLOBEX } from '../support/test-app.ts';

const appearance = browserSuite('appearance of invitation and error pages');

const INVITATION_BODY =
  'Dear colleague,\n\nhave a look at the sales figures: they are new every morning.\n\nAlex';
const openInvitation: Steps = async (page, app) => {
  await app
    .db()
    .updateTable('clients')
    .set({ invitation_body: INVITATION_BODY })
    .where('id', '=', 1)
    .execute();
  const { path } = await inviteByLink(app, { email: 'mary@acme.test', apps: ['zylTKNVx', 'Qm3vR8pa'] });
  await page.goto(path);
};
const logIn: Steps = async (page) => {
  await page.goto('/login/');
  await fillLogin(page, ADA, DEMO_PASSWORD);
  await waitForHeading(page, 'Hello Ada');
};
const openGlobexInvitation: Steps = async (page, app) =>
  page.goto((await inviteByLink(app, { email: ADA, client: 2, by: GLOBEX })).path);

testAppearance(appearance, {
  invitation: openInvitation,
  'invitation-weak': async (page, app) => {
    await openInvitation(page, app);
    await page.getByLabel('First name').fill('Mary');
    await page.getByLabel('Choose a password').fill('mary');
    await page.getByRole('button').click();
    await page.getByRole('alert').waitFor();
  },
  'invitation-login': openGlobexInvitation,
  'invitation-accept': async (page, app) => {
    await logIn(page, app);
    await openGlobexInvitation(page, app);
  },
  'invitation-other-user': async (page, app) => {
    await logIn(page, app);
    await openInvitation(page, app);
  },
  'invitation-invalid': (page) => page.goto('/invitation/k/?signature=s'),
  'invitation-revoked': async (page, app) => {
    const { id, path } = await inviteByLink(app, { email: 'revoked@acme.test' });
    await app.as(ACME).invitations.revoke({ id });
    await page.goto(path);
  },
  'invitation-expired': async (page, app) => {
    const { path } = await inviteByLink(app, { email: 'late@acme.test' });
    app.clock.advance(15 * DAY_MS);
    await page.goto(path);
  },
  'not-found': (page) => page.goto('/nowhere/'),
  failure: async (page, app) => {
    await app.orm.em.fork().execute('alter table sessions rename to sessions_away');
    await page.goto('/login/');
    await fillLogin(page, ADA, DEMO_PASSWORD);
    await waitForHeading(page, 'Something went wrong on our side');
    await app.orm.em.fork().execute('alter table sessions_away rename to sessions');
  },
});

appearance.run();
