import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Ranking } from './ranking.tsx';

type Props = { appId: string; days: number };

const useTop = ({ appId, days }: Props) =>
  useQuery(
    trpc.usage.top.queryOptions({ app_id: appId, window: days }, { placeholderData: keepPreviousData }),
  );

/** The most active users of an app. */
export const TopUsers = (props: Props) => {
  const top = useTop(props);
  const rows = top.data?.users.map(({ email, full_name, actions, days }) => ({
    key: email,
    cells: [
      <Link key="link" className="text-link" to="/people/$email" params={{ email }}>
        {full_name || email}
      </Link>,
      days.toLocaleString(),
      actions.toLocaleString(),
    ],
  }));
  return (
    <div>
      <ProblemAlert error={top.error} />
      {!top.isError && <Ranking title="Top people" headings={['Person', 'Days', 'Actions']} rows={rows} />}
    </div>
  );
};

/** The most used stacks of an app. */
export const TopStacks = (props: Props) => {
  const top = useTop(props);
  // The list of people shows the reason.
  if (top.isError) return null;
  const rows = top.data?.stacks.map(({ stack, label, actions }) => ({
    key: stack,
    cells: [label, actions.toLocaleString()],
  }));
  return <Ranking title="Top page groups" headings={['Page group', 'Actions']} rows={rows} />;
};
