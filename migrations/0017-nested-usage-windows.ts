import { Migration } from '@mikro-orm/migrations';

/** 31 to 90: what `retention_histogram` could not tell while it looked back 30 days. */
const NEW_PLACES = Array.from(
  { length: 60 },
  (_, index) => `count(*) filter (where away > ${index + 30})::int`,
);

/** Usage windows of the last 30, 60 and 90 days, each of which contains the shorter ones. */
export class NestedUsageWindows extends Migration {
  override up(): void {
    this.addSql(`alter table usage_app_days drop constraint usage_app_days_retention_histogram_check`);
    this.addSql(`
      update usage_app_days set retention_histogram = usage_app_days.retention_histogram || counted.retention_histogram
      from (
        select app_id, day, array[${NEW_PLACES.join(', ')}] as retention_histogram
        from (
          select app_id, day,
            coalesce(least(day - lag(day) over (partition by app_id, email order by day), 90), 90) as away
          from usage_days
        ) as days
        group by app_id, day
      ) as counted
      where counted.app_id = usage_app_days.app_id and counted.day = usage_app_days.day`);
    // Days older than the days by person. No window reaches so far back.
    this.addSql(`
      update usage_app_days set retention_histogram = retention_histogram || array_fill(retention_histogram[30], array[60])
      where cardinality(retention_histogram) = 30`);
    this.addSql(`
      alter table usage_app_days add constraint usage_app_days_retention_histogram_check check (cardinality(retention_histogram) = 90)`);
    // As of a day long ago: the first read brings them to the present day.
    this.addSql(`update usage_windows set day = date '2000-01-01'`);
  }
}
