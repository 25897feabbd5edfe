import { Anchor } from '@mantine/core';
import type { AppOption } from './app-choice.tsx';

/** A CSV file to start from, with the slugs of the client's apps. */
export const SampleLink = ({ apps }: { apps: readonly AppOption[] }) => {
  const slugs = apps.slice(0, 2).map(({ slug }) => slug);
  const lines = [
    'email,apps,is_demo_user',
    `ada@example.com,${slugs.join(' ')},false`,
    `grace@example.com,${slugs[0] ?? ''},true`,
  ];
  return (
    <Anchor
      size="sm"
      href={`data:text/csv;charset=utf-8,${encodeURIComponent(`${lines.join('\n')}\n`)}`}
      download="people.csv"
    >
      Download a sample file
    </Anchor>
  );
};
