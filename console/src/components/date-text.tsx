import dayjs from 'dayjs';
import relativeTime from 'dayjs/plugin/relativeTime';

dayjs.extend(relativeTime);

type Props = {
  date: Date | null;
  /** Instead of a date. */
  none?: string;
};

/** The time since then; the exact time as a tooltip. */
export const DateText = ({ date, none = 'never' }: Props) =>
  date ? (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {dayjs(date).fromNow()}
    </time>
  ) : (
    none
  );
