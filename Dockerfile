# One image for worker, extractor and scheduler: docker build --tag outrider:0.1.0 .
# It runs as nobody in particular, needs no disk of its own, and has no shell tools that it does not need.

FROM python:3.11.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements/ requirements/
# The tools that build the wheel are pinned as well, so that nothing is fetched that is not named here.
RUN python -m venv /opt/build && /opt/build/bin/pip install --requirement requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY src/ src/
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .
# The drivers that a service needs are extras; both files pin them, and what they need in turn.
RUN python -m venv /opt/outrider \
    && /opt/outrider/bin/pip install --constraint requirements/base.txt --constraint requirements/dev.txt \
        "$(echo /wheels/outrider-*.whl)[service,postgres]" \
    && /opt/outrider/bin/pip check \
    && /opt/outrider/bin/pip uninstall --yes pip setuptools

FROM python:3.11.11-slim-bookworm
LABEL org.opencontainers.image.title="outrider" \
      org.opencontainers.image.description="A polite crawl engine: nothing lost, every URL explained." \
      org.opencontainers.image.licenses="Apache-2.0"
# A number, so that Kubernetes can see that it is not root.
RUN groupadd --gid 10001 outrider \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin outrider
COPY --from=build /opt/outrider /opt/outrider
# Inside a container, loopback is the container's own: whoever scrapes is elsewhere.
ENV PATH=/opt/outrider/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OUTRIDER_METRICS_ADDRESS=0.0.0.0:9464
# An outrider.toml that is mounted here is read.
WORKDIR /etc/outrider
USER 10001:10001
EXPOSE 9464
STOPSIGNAL SIGTERM
# Not by urllib, which would ask a proxy of the environment.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 9464, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["outrider"]
CMD ["--help"]
