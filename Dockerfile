# The manager in a container: `docker build -t copyhold:0.1.0 .`
FROM python:3.13-slim AS build
WORKDIR /source
# Hashes are checked for everything that is downloaded. From these wheels, and without the network, the project is built and takes what it
# needs, in the versions of the lock; what only tests need stays behind.
COPY requirements.lock ./
RUN pip wheel --no-cache-dir --require-hashes --no-deps --wheel-dir /wheels --requirement requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY apis ./apis
COPY policy ./policy
COPY manager ./manager
RUN python -m venv --without-pip /opt/copyhold \
 && pip --python /opt/copyhold/bin/python install --no-cache-dir --no-index --find-links /wheels .

FROM python:3.13-slim
COPY --from=build /opt/copyhold /opt/copyhold
# Nothing is written but under /tmp, so that the root file system may be read-only; byte code was compiled above.
ENV PATH=/opt/copyhold/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 9443
ENTRYPOINT ["copyhold"]
CMD ["run"]
