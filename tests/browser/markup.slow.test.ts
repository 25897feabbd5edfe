import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { setRows } from '../support/rows.ts';

const markup = browserSuite('markup in Chromium');

markup('a message of a client shows markup and links, and runs no script', async ({ app, page }) => {
  const message = `<p>Ask <b>Alex</b> or <a href="https://help.test/" onclick="run()">the desk</a>.</p>
    <script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">
    <svg/onload="document.title='run'"><a href="javascript:document.title='run'">no link</a></div></main>`;
  await setRows(app, 'clients', { id: 1 }, { message_404: message });
  await page.goto('/nowhere/');

  const link = page.getByRole('link', { name: 'the desk' });
  assert.is(await link.getAttribute('href'), 'https://help.test/');
  assert.is(await link.getAttribute('rel'), 'noopener noreferrer');
  assert.is(await page.locator('.message b').innerText(), 'Alex');
  assert.is(await page.locator('main .card .button').count(), 1);
  assert.is(await page.locator('.message :is(script, img, svg), .message [onclick]').count(), 0);
  await page.getByText('no link').click();
  assert.is.not(await page.title(), 'run');
});

markup.run();
