import { browserSuite } from '../support/browser.ts';
import { logIn, openReference, sendRequest, tryOut } from '../support/reference.ts';
import { testLooks } from '../support/screenshots.ts';

const looks = browserSuite('looks of the reference');

testLooks(looks, {
  reference: openReference,
  'reference-try': async (page) => {
    await logIn(page);
    await tryOut(page);
    await sendRequest(page);
    await page.getByText('200 OK').waitFor();
  },
});

looks.run();
