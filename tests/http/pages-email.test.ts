import * as assert from 'uvu/assert';
import { createVisitor } from '../support/http-clients.ts';
import { enterPassword, loggedIn } from '../support/logins.ts';
import { mailedEmailToken } from '../support/mails.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE } from '../support/test-app.ts';

const pages = appSuite('pages about a change of an email address');
const NEW = 'ada.king@acme.test';

pages('confirm the new address by a form, and undo it by the link to the old one', async ({ app }) => {
  await app.as(ADA).profile.requestEmail({ email: NEW });
  const token = await mailedEmailToken(app, NEW, 'confirm');
  const visitor = createVisitor(app);
  const path = `/email/confirm/?token=${token}`;
  const refused = await createVisitor(app).get(path);
  assert.match(refused.text, `Log in as ${ADA} to confirm the new address.`);
  await enterPassword(visitor, GRACE);
  assert.match((await visitor.get(path)).text, `You are logged in as ${GRACE} , but this link is for`);
  await visitor.submit('/logout/');
  await enterPassword(visitor, ADA);
  const form = await visitor.get(path);

  assert.is(form.status, 200);
  assert.match(form.text, ADA);
  assert.match(form.text, NEW);
  assert.is(form.forms[0]?.action, '/email/confirm/', 'the token must not appear in the URL again');
  const done = await visitor.submit('/email/confirm/', {});
  assert.is(done.status, 200);
  assert.match(done.text, 'Email address changed');
  assert.is((await visitor.get(path)).status, 404);
  const login = (username: string) =>
    app.send('POST /session/', { payload: { username, password: DEMO_PASSWORD } });
  assert.is((await login(ADA)).statusCode, 400);
  assert.is((await login(NEW)).statusCode, 200);

  const undo = `/email/undo/?token=${await mailedEmailToken(app, ADA, 'undo')}`;
  const opened = await visitor.get(undo);
  assert.match(opened.text, ADA);
  assert.not.match(opened.text, NEW);
  assert.is((await login(NEW)).statusCode, 200, 'opening the link changes nothing');
  const undone = await visitor.submit('/email/undo/', {});
  assert.match(undone.text, 'Change undone');
  assert.is((await visitor.get(undo)).status, 404);
  assert.is((await login(ADA)).statusCode, 400, 'the password counts no more');
  assert.is((await login(NEW)).statusCode, 400);
});

pages('of another site cannot confirm it with the session of the person', async ({ app }) => {
  const address = 'edsger.d@globex.test';
  await app.as(EDSGER).profile.requestEmail({ email: address });
  const token = await mailedEmailToken(app, address, 'confirm');
  const script = await loggedIn(app, EDSGER);
  const confirm = (headers: Record<string, string>) =>
    script.send('POST /jb/profile/email/confirm/', { payload: { token }, headers });

  assert.is((await confirm({ 'x-csrftoken': 'guessed' })).json().type, 'urn:steward:problem:csrf-failed');
  const crossSite = await confirm({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' });
  assert.is(crossSite.json().type, 'urn:steward:problem:cross-site');
  assert.is((await confirm({})).statusCode, 204);
});

pages('say that the address is taken by now', async ({ app }) => {
  await app.as(GRACE).profile.requestEmail({ email: ADA });
  const visitor = createVisitor(app);
  await enterPassword(visitor, GRACE);
  await visitor.get(`/email/confirm/?token=${await mailedEmailToken(app, ADA, 'confirm')}`);
  const taken = await visitor.submit('/email/confirm/', {});

  assert.is(taken.status, 400);
  assert.match(taken.text, 'already exists');
});

pages('refuse a wrong link, and a form of another site', async ({ app }) => {
  await app.as(GRACE).profile.requestEmail({ email: 'grace.h@acme.test' });
  const token = await mailedEmailToken(app, 'grace.h@acme.test', 'confirm');
  const visitor = createVisitor(app);

  for (const path of ['/email/confirm/', `/email/undo/?token=${token}`, `/email/confirm/?token=${token}x`]) {
    const page = await visitor.get(path);
    assert.is(page.status, 404, path);
    assert.match(page.text, 'This link is no longer valid');
  }
  const foreign = await app.send('POST !/email/confirm/', {
    payload: new URLSearchParams({ token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.is(foreign.statusCode, 403);
});

pages.run();
