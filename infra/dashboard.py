"""The dashboard's JSON: the built-in one, or a file of the operator's own."""

from pathlib import Path

import dashboards
from infra.faults import ConfigurationError, Fault, shown
from infra.settings import DashboardSettings


def dashboard_model(
    settings: DashboardSettings,
    *,
    uid: str,
    title: str,
    pyroscope_uid: str,
    prometheus_uid: str | None,
    owner_text: str,
) -> dict[str, object]:
    """The dashboard that ``settings`` ask for; ``title`` is the built-in one's, if none is set.

    Raises:
        ConfigurationError: the file cannot be read, or is no dashboard that can be used here.
    """
    if settings.file is None:
        return dashboards.build(
            dashboards.DashboardOptions(
                uid=uid,
                title=settings.title or title,
                pyroscope_uid=pyroscope_uid,
                prometheus_uid=prometheus_uid,
                owner_text=owner_text,
            )
        )
    try:
        # Relative to the project: the engine runs the program in its directory.
        text = Path(settings.file).read_text(encoding="utf-8")
        return dashboards.load_file(
            text,
            uid=uid,
            title=settings.title,
            pyroscope_uid=pyroscope_uid,
            prometheus_uid=prometheus_uid,
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            [
                Fault(
                    path="gpuobs:grafana.dashboard.file",
                    value=shown(settings.file),
                    rule="a dashboard exported from Grafana, as JSON, relative to the project",
                    why=str(error),
                    fix="export the dashboard again, or leave `file` out for the built-in one",
                )
            ]
        ) from None
