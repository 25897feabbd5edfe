import * as assert from 'uvu/assert';
import { emptyOutbox, invite, mailTo, outboxOf } from '../support/mails.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const INVITATION_LINK = /\/invitation\/[\w-]+\/\?signature=[\w-]+/;
const PASSWORD_LINK = /\/password\/reset\/\?token=[\w.-]+/;

/** Text and HTML of the mail to an address, as the caller may view it. */
const readBy = async (app: TestApp, who: string, recipient: string): Promise<string[]> => {
  const { id } = await mailTo(app, recipient);
  const { text, html } = await app.as(who).mail.get({ id });
  return [text, html];
};

const showsLink = (forms: string[], link: RegExp): void => {
  for (const form of forms) assert.match(form, link);
};
const showsNone = (forms: string[]): void => {
  for (const form of forms) {
    assert.match(form, '(link not shown)');
    assert.not.match(form, /signature|token|\/invitation|\/password/);
  }
};

for (const { where, settings, isMailed } of [
  { where: 'without a mail server', settings: {}, isMailed: false },
  { where: 'with a mail server', settings: { SMTP_URL: 'smtp://127.0.0.1:1' }, isMailed: true },
]) {
  const links = appSuite(`links in mails, ${where}`, settings);

  links.before.each(async ({ app }) => {
    await emptyOutbox(app);
    await app.db().deleteFrom('rate_limits').execute();
  });

  links(
    `show an invitation link to ${isMailed ? 'superusers only' : 'users who may invite'}`,
    async ({ app }) => {
      const [email = ''] = await invite(app, 1);

      showsLink(await readBy(app, ROOT, email), INVITATION_LINK);
      if (isMailed) showsNone(await readBy(app, ACME, email));
      else showsLink(await readBy(app, ACME, email), INVITATION_LINK);
      showsNone(await readBy(app, STAFF, email));
      const readers = await app.as(ROOT).audit.list({ action: 'mail.read-link', target: email });
      assert.equal(
        readers.map(({ actor }) => actor),
        isMailed ? [ROOT] : [ACME, ROOT],
      );
    },
  );

  links(`show a password link to ${isMailed ? 'no one' : 'superusers'}`, async ({ app }) => {
    await app.as(null).passwords.requestReset({ email: ADA });
    await outboxOf(app).createLinks();

    for (const who of [ACME, STAFF]) showsNone(await readBy(app, who, ADA));
    const forms = await readBy(app, ROOT, ADA);
    if (isMailed) showsNone(forms);
    else showsLink(forms, PASSWORD_LINK);
  });

  links.run();
}
