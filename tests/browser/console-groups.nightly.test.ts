import * as assert from 'uvu/assert';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { chooseFromMenu, goTo, openConsole } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const groups = browserSuite('groups in the console', REFUSED);

const IDLE = 'idle@acme.test';

const read = (app: TestApp, group_id: number) => app.as(ACME).groups.get({ id: 1, group_id });

groups('are created with apps, get members by name and by address, and give apps', async ({ app, page }) => {
  await openConsole(page, '/console/groups');
  await page.getByRole('button', { name: 'New group' }).click();
  const dialog = page.getByRole('dialog', { name: 'New group' });
  await dialog.getByLabel('Name').fill('Forecasters');
  await dialog.getByRole('checkbox', { name: 'Churn' }).check();
  await assertLooksGood(page, 'console-new-group');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await waitForHeading(page, 'Forecasters');
  await page.getByText('No one belongs to this group yet.').waitFor();

  const input = page.getByRole('combobox', { name: 'Add people' });
  const members = page.getByRole('table', { name: 'Members' });
  await input.fill('Lovel');
  await page.getByRole('option', { name: 'Ada Lovelace' }).click();
  await members.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  await input.fill(`${GRACE}, ${IDLE}`);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await members.getByRole('link', { name: 'Ida Idle' }).waitFor();
  await assertLooksGood(page, 'console-group');

  const [{ id } = { id: 0 }] = await app.as(ACME).groups.list({ id: 1 });
  const { apps, members: emails } = await read(app, id);
  assert.equal([emails, apps], [[ADA, GRACE, IDLE], [CHURN]]);
  await page.getByRole('button', { name: `Remove ${GRACE}` }).click();
  const question = page.getByRole('dialog', { name: `Remove ${GRACE} from Forecasters?` });
  await question.getByText('They lose the apps').waitFor();
  assert.equal((await read(app, id)).members, [ADA, GRACE, IDLE]);
  await question.getByRole('button', { name: 'Remove' }).click();
  await page.getByText(`Removed ${GRACE}.`).waitFor();
  assert.equal((await read(app, id)).members, [ADA, IDLE]);

  await goTo(page, '/console/groups');
  await page.getByRole('link', { name: 'Forecasters' }).waitFor();
  await assertLooksGood(page, 'console-groups');
  await goTo(page, '/console/audit?target=Forecasters');
  await page.getByText('removed Grace Hopper from the group Forecasters').waitFor();
});

groups('say who loses an app before it is taken out, and before they are removed', async ({ app, page }) => {
  const email = 'only-here@acme.test';
  await app.as(ACME).users.create({ email, first_name: 'Olga', client: 1 });
  const { id } = await app
    .as(ACME)
    .groups.create({ id: 1, name: 'Team', members: [email], apps: [SALES, CHURN] });
  await openConsole(page, `/console/groups/1/${id}`);
  await page.getByRole('combobox', { name: 'Apps' }).click();
  await page.keyboard.press('Backspace');
  await page.getByText('1 person loses Churn: only this group gives it to them.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal((await read(app, id)).apps, [SALES]);

  await chooseFromMenu(page, 'Remove group');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Sales: 1 person').waitFor();
  await assertLooksGood(page, 'console-remove-group');
  await dialog.getByRole('button', { name: 'Remove group' }).click();
  await waitForHeading(page, 'Groups');
  await page.getByText('Group removed.').waitFor();
  assert.equal((await app.as(ACME).users.get({ email })).apps, []);
});

groups.run();
