import { Anchor, Box } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Ranking } from './ranking.tsx';

type Props = {
  client: number | undefined;
  /** 0: not known yet. */
  days: number;
  onApp: (id: string) => void;
};

/** The most used apps of a client, or of all clients. */
export const TopApps = ({ client, days, onApp }: Props) => {
  const top = useQuery(
    trpc.usage.topApps.queryOptions(
      { client, window: days },
      { enabled: days > 0, placeholderData: keepPreviousData },
    ),
  );
  const rows = top.data?.apps.map(({ id, label, actions }) => ({
    key: id,
    cells: [
      <Anchor key="app" component="button" fz="inherit" className="text-link" onClick={() => onApp(id)}>
        {label}
      </Anchor>,
      actions.toLocaleString(),
    ],
  }));
  return (
    <Box mt="md" maw="40rem">
      <ProblemAlert error={top.error} />
      {!top.isError && <Ranking title="Top apps" headings={['App', 'Actions']} rows={rows} />}
    </Box>
  );
};
