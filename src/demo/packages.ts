import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { openTempFolder } from '../lib/files.ts';
import { packDirectory, publishPackageFile } from '../services/packages/package-packing.ts';
import { PACKAGES } from './workspace.ts';

/** Packs and publishes the demo packages as an operator would. */
export const publishDemoPackages = async (store: PackageStore): Promise<void> => {
  await using work = await openTempFolder('steward-demo-');
  for (const content of PACKAGES) {
    const dir = join(work.path, `${content.slug}-${content.version}`);
    await mkdir(join(dir, 'pages'), { recursive: true });
    await writeFile(join(dir, 'app.yaml'), stringify(manifestOf(content)));
    for (const stack of content.stacks) {
      await writeFile(join(dir, 'pages', `${stack}.html`), `<h1>${titleOf(stack)}</h1>\n`);
    }
    const packed = await packDirectory(dir, work.path);
    await publishPackageFile(store, packed.file);
  }
};

const manifestOf = ({ slug, version, label, stacks, declares }: (typeof PACKAGES)[number]) => ({
  slug,
  version,
  label,
  description: `The ${label} app of the demo workspace.`,
  help_html: `<p>Choose a page of ${label} on the left.</p>`,
  footer_html: '<p>Sample data.</p>',
  show_help: true,
  show_footer: false,
  view_as: true,
  stacks: stacks.map((stack) => ({ slug: stack, label: titleOf(stack) })),
  ...declares,
});

const titleOf = (slug: string): string => slug.charAt(0).toUpperCase() + slug.slice(1);
